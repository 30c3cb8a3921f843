"""``recompute``: forward runs once and keeps what backward needs; values and gradients are those of recomputing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.errors import UsageError
from opkit.ops.core.types import Function
from opkit.shim.missing import guard

__all__ = ["recompute", "recompute_hybrid"]

_OPTIONS = ("preserve_rng_state", "use_reentrant")


def recompute(function: Function, *args: Any, **kwargs: Any) -> Any:
    """Call a function.

    Args:
        function: a Layer or a function of Tensors.
        args: its arguments.
        kwargs: its keyword arguments; ``preserve_rng_state`` and ``use_reentrant`` are accepted, without effect:
            nothing is computed twice, so random numbers stay the same.
    """
    return function(*args, **{name: value for name, value in kwargs.items() if name not in _OPTIONS})


def recompute_hybrid(ctx: Mapping[str, Any], function: Function, *args: Any, **kwargs: Any) -> Any:
    """Call a function; ``ctx["mp_group"]`` must be there, as in Paddle.

    Raises:
        UsageError: it is not there.
    """
    if ctx.get("mp_group") is None:
        raise UsageError("recompute_hybrid: ctx must hold 'mp_group'")
    return recompute(function, *args, **kwargs)


__getattr__ = guard(globals())
