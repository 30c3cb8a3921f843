"""The op builders under Paddle's rules: tensors are promoted, integers divide and go through functions in float32.

Where the shared builders are strict, those here do what Paddle documents: see ``shapes``, and the functions below.

``opkit.ops`` with the builders replaced that depend on a dialect; the facade's modules import it as ``ops``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from opkit import ops
from opkit.errors import UsageError
from opkit.ops import *  # noqa: F403 - everything that no dialect has a say in is as it is
from opkit.ops.core.meeting import always
from opkit.ops.dialects import builders_for
from opkit.paddle.semantics import shapes
from opkit.paddle.semantics.dialect import PADDLE
from opkit.paddle.semantics.promotion import FLOAT32

__all__ = list(ops.__all__)


def in_floating_point(build: Callable[..., Any]) -> Callable[..., Any]:
    """Return a builder whose first operand, where it is an integer tensor, is cast to float32 first."""

    @functools.wraps(build)
    def built(x: Any, *args: Any, **options: Any) -> Any:
        try:
            kind = x._data.dtype.kind
        except AttributeError:
            x = ops.as_value(x)
            kind = x._data.dtype.kind
        return build(x if kind in "fc" else ops.cast(x, FLOAT32), *args, **options)

    return built


#: Made of several ops on one operand, which they take as it is.
_COMPOSED = (
    "elu",
    "gelu",
    "hardshrink",
    "hardtanh",
    "leaky_relu",
    "mish",
    "norm",
    "relu6",
    "selu",
    "softshrink",
    "softsign",
    "std",
    "tanhshrink",
    "thresholded_relu",
    "var",
)


class EquationError(UsageError, AssertionError):
    """An equation is malformed or does not fit its operands (Paddle raises AssertionError)."""


def _einsum(equation: str, operands: Sequence[Any]) -> Any:
    """See ``opkit.ops.einsum``; a malformed equation is an AssertionError too."""
    try:
        return ops.einsum(equation, operands)
    except UsageError as error:
        raise EquationError(error.message, help=error.help) from None


globals().update({name: in_floating_point(getattr(ops, name)) for name in _COMPOSED})
globals().update({name: build for name, build in builders_for(always(PADDLE)).items() if name in ops.__all__})
globals().update(
    {
        "clip": ops.clip_inside,
        "einsum": _einsum,
        "reshape": shapes.reshape,
        "squeeze": shapes.squeeze,
    }
)
