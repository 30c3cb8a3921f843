"""Pairs: forward and its backward in one call, after which custody looks at all that they got at once.

What was found changed is called again with a look after each function: whose doing it was is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opkit.checker.model.checkable import Arrays, Attrs, Checkable, Gradients, Pullback
from opkit.checker.model.loans import Handed, Kept, are_untouched, changes, left, passed
from opkit.checker.model.raised import readable

if TYPE_CHECKING:
    from opkit.checker.model.custody import Custody

__all__ = ["paired"]


def paired(
    custody: Custody,
    checkable: Checkable,
    run: Callable[[Arrays, Attrs], tuple[Sequence[np.ndarray], Pullback]],
    are_numbers: Callable[[Any], None],
) -> Callable[[Arrays, Attrs, Sequence[np.ndarray], frozenset[str]], Gradients]:
    """Return forward and backward as one function ``(arrays, attrs, douts, needs) -> gradients``.

    Nothing that they return leaves it before all that they got was found unchanged. Where something was changed, both
    are called once more on new copies, each looked after by itself, and from then on always.

    Args:
        custody: hands out the inputs, and notes what was written.
        checkable: the op.
        run: forward, and the pullback, each looked after by itself.
        are_numbers: raises where forward's results are not numbers.
    """
    forward, vjp, hand = checkable.forward, checkable.vjp, custody.hand
    backward = checkable.backward or _no_gradients

    def apart(arrays: Arrays, attrs: Attrs, douts: Sequence[np.ndarray], needs: frozenset[str]) -> Gradients:
        _, pullback = run(arrays, attrs)
        return pullback(douts, needs)

    def pair(arrays: Arrays, attrs: Attrs, douts: Sequence[np.ndarray], needs: frozenset[str]) -> Gradients:
        if custody.breaches:
            return apart(arrays, attrs, douts, needs)
        handed = hand(arrays, attrs)
        custody.has_run = True
        inputs, options = handed.inputs, handed.attrs
        lent: list[Kept] = []
        incoming: list[Kept] = []
        try:
            if vjp is not None:
                outputs, pullback = vjp(inputs, options)
                are_numbers(outputs)
                lent = left(outputs)
                values, incoming = passed(douts)
                found = pullback(values, needs)
            else:
                outputs = forward(inputs, options)
                are_numbers(outputs)
                results, lent = passed(outputs, True)
                values, incoming = passed(douts)
                found = backward(inputs, results, values, options, needs)
        except Exception as error:
            if _are_as_handed_out(handed, lent, incoming):
                raise readable(error)  # noqa: B904 (it is the same, or says all that can be said of it)
        else:
            if are_untouched([*handed.kept, *lent, *incoming]) and (not handed.has_more or handed.has_the_rest()):
                return found
        custody.forget()
        try:
            return apart(arrays, attrs, douts, needs)
        finally:
            if not custody.breaches:  # they do not write every time
                custody.note(handed, "GC122", "forward or backward", handed.changes())
                custody.note(handed, "GC123", "forward or backward", changes(lent, (), "argument, forward's result"))
                custody.note(handed, "GC123", "backward", changes(incoming, (), "incoming gradient"))

    return pair


def _are_as_handed_out(handed: Handed, lent: Sequence[Kept], incoming: Sequence[Kept]) -> bool:
    return are_untouched([*handed.kept, *lent, *incoming]) and (not handed.has_more or handed.has_the_rest())


def _no_gradients(*_: Any) -> Gradients:
    return {}
