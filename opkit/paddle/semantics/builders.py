"""The op builders under Paddle's rules: tensors are promoted, integers divide and go through functions in float32.

Where the shared builders are strict, those here do what Paddle documents: see ``shapes``, and the functions below.

``opkit.ops`` with the builders replaced that depend on a dialect; the facade's modules import it as ``ops``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit import ops
from opkit.errors import UsageError
from opkit.ops import *  # noqa: F403 - everything that no dialect has a say in is as it is
from opkit.ops.core.meeting import always
from opkit.ops.dialects import builders_for
from opkit.paddle.semantics import shapes
from opkit.paddle.semantics.dialect import PADDLE

__all__ = list(ops.__all__)


class EquationError(UsageError, AssertionError):
    """An equation is malformed or does not fit its operands (Paddle raises AssertionError)."""


def _einsum(equation: str, operands: Sequence[Any]) -> Any:
    """See ``opkit.ops.einsum``; a malformed equation is an AssertionError too."""
    try:
        return ops.einsum(equation, operands)
    except UsageError as error:
        raise EquationError(error.message, help=error.help) from None


globals().update({name: build for name, build in builders_for(always(PADDLE)).items() if name in ops.__all__})
globals().update({"clip": ops.clip_inside, "einsum": _einsum, "reshape": shapes.reshape, "squeeze": shapes.squeeze})
