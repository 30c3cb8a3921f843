"""Finite: the one check for NaN and infinity; it is an observer, the caller switches it on."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import OpkitError
from opkit.ops.core.mode import local
from opkit.ops.core.observers import Observing, observe
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Values


class NonFiniteError(OpkitError, ArithmeticError, ValueError, RuntimeError):
    """An op or a gradient gave NaN or infinity, and the user wants to stop there."""


class FiniteCheck:
    """A check of every op that runs, in all threads, that can be switched on and off.

    Args:
        blames_origin: only an op that makes NaN or infinity out of finite inputs is at fault, in gradients too;
            otherwise every op whose result is not finite is, and a gradient counts as part of its op.
        help: the line below the message.
    """

    def __init__(self, *, blames_origin: bool, help: str = "") -> None:
        self._blames_origin = blames_origin
        self._help = help
        self._observing: Observing | None = None

    @property
    def is_on(self) -> bool:
        """Whether it is switched on."""
        return self._observing is not None

    def switch(self, is_on: bool) -> None:
        """Switch the check on or off; other observers stay as they are."""
        if self._observing is not None:
            self._observing.remove()
        self._observing = observe(self.check_op, self.check_gradient, everywhere=True) if is_on else None

    def check_op(self, opdef: OpDef, inputs: Values, attrs: Attrs, outputs: Values, seconds: float) -> None:
        """Refuse an op's results, and what it writes, where they are not finite.

        Raises:
            NonFiniteError: names the op, the output or input, and how many of its values are not finite.
        """
        if opdef.is_silent or (not self._blames_origin and local.mode.differentiated is not None):
            return  # a step of a gradient's formula may be infinite where the gradient is not
        results = {f"output {index}": output for index, output in enumerate(outputs)}
        written = opdef.written(attrs)
        if written:
            # Their previous values are lost, so an op that writes is responsible for them.
            results |= {f"input {opdef.inputs[index].name!r}, which it writes": inputs[index] for index in written}
            inputs = [item for index, item in enumerate(inputs) if index not in written]
        for name, array in results.items():
            bad = _count(array)
            if bad and not (self._blames_origin and any(map(_count, inputs))):
                given = ", ".join(_described(item) for item in inputs if isinstance(item, ndarray))
                raise NonFiniteError(
                    f"op {opdef.title!r} made {_values(bad)} of {np.size(array)} in {name}; "
                    f"{_origin(inputs, 'its inputs')}{f' ({given})' if given else ''}",
                    where=opdef.where,
                    help=self._help,
                )

    def check_gradient(self, opdef: OpDef, douts: Values, grads: Values) -> None:
        """Refuse cotangents of an op's inputs that are not finite.

        Raises:
            NonFiniteError: names the op, the input and how many values are not finite.
        """
        for index, grad in enumerate(grads):
            bad = _count(grad)
            if bad and not (self._blames_origin and any(map(_count, douts))):
                raise NonFiniteError(
                    f"the gradient of {opdef.title!r} for input {index} holds {_values(bad)} of {np.size(grad)}; "
                    f"{_origin(douts, 'the incoming gradient')}",
                    where=opdef.where,
                    help=self._help,
                )


def _count(item: Any) -> int:
    if not isinstance(item, ndarray) or item.dtype.kind not in "fc":
        return 0
    return int(item.size - np.count_nonzero(np.isfinite(item)))


def _values(count: int) -> str:
    return f"{count} NaN or infinite value{'s' if count > 1 else ''}"


def _origin(items: Iterable[Any], what: str) -> str:
    verb = "were" if what.endswith("s") else "was"
    return f"{what} contained some already" if any(map(_count, items)) else f"{what} {verb} finite"


def _described(array: ndarray) -> str:
    if not array.size or array.dtype.kind not in "fiu":
        return f"{array.dtype}{list(array.shape)}"
    return f"{array.dtype}{list(array.shape)} from {array.min():.3g} to {array.max():.3g}"
