"""``paddle.base.executor``."""

from opkit.paddle.static.executor import Executor
from opkit.shim.missing import guard
from opkit.static import global_scope, scope_guard

__all__ = ["Executor", "global_scope", "scope_guard"]

__getattr__ = guard(__name__, globals())
