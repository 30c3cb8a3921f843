"""Activations: relu and its family, elu, gelu, silu, the hard ones; each with the gradient op that OneFlow has.

sigmoid, tanh and softplus are in ``opkit.ops.elementwise``, softmax in ``opkit.ops.softmax``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.ops.arithmetic import mul
from opkit.ops.creation import as_value, cast
from opkit.ops.define import NO_ATTRS, define, first_only, quiet
from opkit.ops.inference import same_shape, unchanged
from opkit.ops.mode import local
from opkit.ops.opdef import OpDef
from opkit.ops.value import Value

__all__ = ["relu"]

#: ``second(x, attrs)``: the second derivative as a value, built of ops; None: zero almost everywhere.
Second = Callable[[Value, Mapping[str, Any]], Value]


def _activation(
    name: str,
    kernel: Callable[..., Any],
    slope: Callable[..., Any],
    second: Second | None = None,
    *,
    attrs: str = "",
    args: tuple[str, str] = ("in", "out"),
    defaults: Mapping[str, Any] = NO_ATTRS,
    from_output: bool = False,
) -> OpDef:
    """Define ``name`` and ``name_grad``, whose first input is x, or y where the slope is read off the output."""
    kernel, slope = quiet(kernel), quiet(slope)
    source = "y" if from_output else "x"

    def grad_rule(applied: Any, douts: Sequence[Value]) -> Sequence[Any]:
        value, dy = applied.inputs
        need_value, need_dy = applied.needs
        by_value = None
        if need_value and second is not None:
            by_value = mul(mul(douts[0], dy), second(value, applied.attrs))
        return by_value, local.mode.apply(grad_op, (value, douts[0]), applied.attrs) if need_dy else None

    grad_op = define(
        f"{name}_grad",
        f"{source} dy",
        "dx",
        slope,
        infer=same_shape(f"{name}_grad", floating=True),
        attrs=attrs,
        defaults=defaults,
        grad=grad_rule,
        reads=f"{source} dy" if second is not None else source,
        elementwise=True,
    )

    def rule(applied: Any, dout: Value) -> Value:
        value = applied.outputs[0] if from_output else applied.inputs[0]
        return local.mode.apply(grad_op, (value, dout), applied.attrs)

    return define(
        name,
        args[0],
        args[1],
        kernel,
        infer=unchanged(name, floating=True),
        attrs=attrs,
        defaults=defaults,
        grad=first_only(rule),
        reads=args[1] if from_output else args[0],
        out=kernel,
        elementwise=True,
    )


def _apply(opdef: OpDef, x: Any, attrs: Mapping[str, Any] = NO_ATTRS) -> Value:
    x = as_value(x)
    if x._data.dtype.kind not in "fc":
        x = cast(x, np.dtype(np.float32))
    return local.mode.apply(opdef, (x,), attrs)


# ---- relu ------------------------------------------------------------------------------------------------------------
def _relu(x: np.ndarray, out: np.ndarray | None = None) -> Any:
    return np.maximum(x, 0, out=out)


def _relu_slope(y: np.ndarray, dy: np.ndarray) -> np.ndarray:
    return np.multiply(dy, y > 0)


RELU = _activation("relu", _relu, _relu_slope, from_output=True)


def relu(x: Value) -> Value:
    """Return max(x, 0); the gradient at 0 is 0."""
    return _apply(RELU, x)
