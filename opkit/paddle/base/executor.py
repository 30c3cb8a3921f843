"""``paddle.base.executor``."""

from __future__ import annotations

from opkit.paddle.static.executor import Executor
from opkit.shim.missing import guard
from opkit.static import global_scope, scope_guard

__all__ = ["Executor", "global_scope", "scope_guard"]

__getattr__ = guard(globals())
