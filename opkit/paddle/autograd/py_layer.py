"""``paddle.autograd.py_layer``: PyLayer, its context, and ``once_differentiable``."""

from __future__ import annotations

import functools
from typing import Any

from opkit.eager import PyLayer, PyLayerContext, no_grad
from opkit.ops.core.types import Function
from opkit.shim.missing import guard

__all__ = ["PyLayer", "PyLayerContext", "once_differentiable"]


def once_differentiable(backward: Function) -> Function:
    """Decorate a PyLayer's backward whose result cannot be differentiated again."""

    @functools.wraps(backward)
    def run_once(ctx: Any, *args: Any) -> Any:
        with no_grad():
            return backward(ctx, *args)

    return run_once


__getattr__ = guard(globals())
