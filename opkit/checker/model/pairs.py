"""Pairs: forward and its backward in one call, after which custody looks at all that they got at once.

What was found changed is called again with a look after each function: whose doing it was is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opkit.checker.model.checkable import Arrays, Attrs, Checkable, Gradients, Pullback
from opkit.checker.model.copies import LARGE, copied_alone
from opkit.checker.model.loans import Handed, Kept, are_untouched, changes, left, passed
from opkit.checker.model.raised import readable

if TYPE_CHECKING:
    from opkit.checker.model.custody import Custody

_ndarray = np.ndarray
#: The last of the dtypes that numpy numbers first: booleans, integers, floats and complex numbers.
LAST_NUMBER = np.dtype(np.clongdouble).num


class Pairs:
    """Forward and backward of one op as one function.

    Nothing that they return leaves it before all that they got was found unchanged. Where something was changed, both
    are called once more on new copies, each looked after by itself, and from then on always.

    Args:
        custody: hands out the inputs, and notes what was written.
        checkable: the op.
        run: forward, and the pullback, each looked after by itself.
        are_numbers: raises where forward's results are not numbers.
    """

    __slots__ = ("_are_numbers", "_backward", "_custody", "_forward", "_run", "_vjp")

    def __init__(
        self,
        custody: Custody,
        checkable: Checkable,
        run: Callable[[Arrays, Attrs], tuple[Sequence[np.ndarray], Pullback]],
        are_numbers: Callable[[Any], None],
    ) -> None:
        self._custody, self._run, self._are_numbers = custody, run, are_numbers
        self._forward, self._vjp = checkable.forward, checkable.vjp
        self._backward: Callable[..., Any] = checkable.backward or _no_gradients

    def __call__(self, arrays: Arrays, attrs: Attrs, douts: Sequence[np.ndarray], needs: frozenset[str]) -> Gradients:
        """Call forward, then backward; return the gradients.

        Raises:
            Exception: what one of them raised.
        """
        custody = self._custody
        if custody.breaches:
            return self._run(arrays, attrs)[1](douts, needs)
        handed = custody.hand(arrays, attrs)
        custody.has_run = True
        pull: Pullback | None = None
        try:
            if self._vjp is None:
                outputs = self._forward(handed.inputs, handed.attrs)
            else:
                outputs, pull = self._vjp(handed.inputs, handed.attrs)
            for item in outputs:
                if type(item) is _ndarray and item.dtype.num > LAST_NUMBER:
                    self._are_numbers(outputs)
        except Exception as error:
            if _are_as_they_were(handed):
                raise readable(error)  # noqa: B904 (it is the same, or says all that can be said of it)
            return self._again(handed, (), (), arrays, attrs, douts, needs)
        finish = self._finished_one if len(outputs) == len(douts) == 1 else self._finished
        return finish(handed, outputs, pull, arrays, attrs, douts, needs)

    def _finished(self, handed: Handed, outputs: Any, pull: Pullback | None, *given: Any) -> Gradients:
        """Call backward, or the pullback of a forward."""
        *_, douts, needs = given
        results, lent = passed(outputs, is_reachable=True) if pull is None else ([], left(outputs))
        values, incoming = passed(douts)
        try:
            if pull is None:
                found: Gradients = self._backward(handed.inputs, results, values, handed.attrs, needs)
            else:
                found = pull(values, needs)
        except Exception as error:
            if _are_as_they_were(handed, lent, incoming):
                raise readable(error)  # noqa: B904
        else:
            if _are_as_they_were(handed, lent, incoming):
                return found
        return self._again(handed, lent, incoming, *given)

    def _finished_one(
        self, handed: Handed, outputs: Any, pull: Pullback | None, arrays: Arrays, attrs: Attrs, douts: Any, needs: Any
    ) -> Gradients:
        """Do what ``_finished`` does for one small result and its gradient, in half the time."""
        item, dout = outputs[0], douts[0]
        if type(item) is not _ndarray or type(dout) is not _ndarray or item.nbytes >= LARGE or dout.nbytes >= LARGE:
            return self._finished(handed, outputs, pull, arrays, attrs, douts, needs)
        content, shape, dtype = item.tobytes(), item.shape, item.dtype
        incoming, form, kind = dout.tobytes(), dout.shape, dout.dtype
        value = dout.copy()  # what copied_alone does, without a call
        if value.strides != dout.strides:
            value = copied_alone(dout)
        value.setflags(False)
        lent: np.ndarray = item
        if pull is None:
            lent = item.copy()
            if lent.strides != item.strides:
                lent = copied_alone(item)
            lent.setflags(False)  # type: ignore[call-arg]  # as a keyword it takes twice as long
        run: Any = self._backward if pull is None else pull
        given = (handed.inputs, [lent], [value], handed.attrs, needs) if pull is None else ([value], needs)
        try:
            found: Gradients = run(*given)
        except Exception as error:
            every, once = _loans((item, lent), content, shape, dtype), _loans((value,), incoming, form, kind)
            if _are_as_they_were(handed, every, once):
                raise readable(error)  # noqa: B904
        else:
            if (
                item.tobytes() == content
                and value.tobytes() == incoming
                and item.shape == shape
                and value.shape == form
                and item.dtype is dtype
                and value.dtype is kind
                and (lent is item or (lent.tobytes() == content and lent.shape == shape and lent.dtype is dtype))
                and are_untouched(handed.kept)
                and (not handed.has_more or handed.has_the_rest())
            ):
                return found
            every, once = _loans((item, lent), content, shape, dtype), _loans((value,), incoming, form, kind)
        return self._again(handed, every, once, arrays, attrs, douts, needs)

    def _again(
        self,
        handed: Handed,
        lent: Sequence[Kept],
        incoming: Sequence[Kept],
        arrays: Arrays,
        attrs: Attrs,
        douts: Sequence[np.ndarray],
        needs: frozenset[str],
    ) -> Gradients:
        """Call both once more, each looked after by itself; what neither of them writes again is noted as it is."""
        custody = self._custody
        custody.forget()
        try:
            return self._run(arrays, attrs)[1](douts, needs)
        finally:
            if not custody.breaches:
                custody.note(handed, "GC122", "forward or backward", handed.changes())
                custody.note(handed, "GC123", "forward or backward", changes(lent, (), "argument, forward's result"))
                custody.note(handed, "GC123", "backward", changes(incoming, (), "incoming gradient"))


def _are_as_they_were(handed: Handed, *others: Sequence[Kept]) -> bool:
    return (
        are_untouched(handed.kept)
        and (not handed.has_more or handed.has_the_rest())
        and all(are_untouched(loans) for loans in others)
    )


def _loans(arrays: Sequence[np.ndarray], content: bytes, shape: tuple[int, ...], dtype: np.dtype) -> list[Kept]:
    return [(array.tobytes, content, array, shape, dtype, None) for array in arrays]


def _no_gradients(*_: Any) -> Gradients:
    return {}
