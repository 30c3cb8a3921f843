"""``paddle.base.executor``."""

from __future__ import annotations

from typing import Any

from opkit.errors import UsageError
from opkit.paddle.static.executor import Executor
from opkit.shim.missing import guard
from opkit.static import global_scope, scope_guard

__all__ = ["Executor", "_fetch_var", "global_scope", "scope_guard"]


def _fetch_var(name: str, scope: Any = None, return_numpy: bool = True) -> Any:
    """Return what a scope holds under a name.

    Raises:
        UsageError: it holds nothing there.
    """
    held: Any = (scope or global_scope()).find_var(name)
    if held is None:
        raise UsageError(f"the scope holds no variable {name!r}", help="a Variable that is persistable is kept")
    return held.get_tensor().numpy() if return_numpy else held.get_tensor()


__getattr__ = guard(globals())
