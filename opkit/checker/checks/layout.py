"""Layout: results must not depend on how arguments lie in memory (GC130, GC131).

Rearranges memory without changing values; other checks decide which values are correct.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice, pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.model.agreement import same
from opkit.checker.model.evaluate import Evaluator, frozen, is_float, leaves_of, rounding_shift, snapshot
from opkit.checker.model.formats import FORMATS
from opkit.checker.model.numbers import largest, resolution_of
from opkit.checker.model.raised import is_write, words_of
from opkit.checker.model.report import CheckResult, Evidence
from opkit.checker.model.session import CheckSession, Findings
from opkit.checker.model.thresholds import COARSE_ULPS, LITTLE, MANY, SOME, SUM_ULPS
from opkit.checker.model.types import ArrayMap, Results
from opkit.ir import Shape
from opkit.record import record

#: The strides of all arrays of a call.
_Strides: TypeAlias = tuple[Shape, ...]


@record
class _Fault:
    """What came of another layout.

    Args:
        code: of the check.
        said: a sentence.
        is_refusal: whether the function refused it aloud.
        culprit: an operation of the framework itself that is at fault, "" for none.
        share: by what share of its size a result is another one.
    """

    code: str
    said: str
    is_refusal: bool = False
    culprit: str = ""
    share: float = np.inf


def _strided(array: ndarray, axis: int = -1) -> ndarray:
    """Return every other element of a wider array, along an axis."""
    if array.ndim == 0:
        return array
    shape = list(array.shape)
    shape[axis] = 2 * shape[axis] + 1
    view = np.full(shape, np.nan if array.dtype.kind == "f" else 0, array.dtype).swapaxes(axis, -1)[..., 1::2]
    found: ndarray = view.swapaxes(axis, -1)
    found[...] = array
    return found


def _roomy(array: ndarray, size: int) -> ndarray:
    """Return a copy with room for ``size`` elements behind it: a kernel that ignores strides stays in our memory."""
    room = np.zeros(array.size + size, array.dtype)
    copy: ndarray = room[: array.size].reshape(array.shape)
    copy[...] = array
    return copy


def _reversed(array: ndarray) -> ndarray:
    index = (slice(None, None, -1),) * array.ndim
    return _roomy(array[index], array.size)[index] if array.ndim else array


def _permuted(array: ndarray) -> ndarray:
    if array.ndim < 2:
        return _reversed(array)
    moved: ndarray = np.ascontiguousarray(np.moveaxis(array, 0, -1))
    permuted: ndarray = moved.transpose(-1, *range(array.ndim - 1))
    return permuted


#: name -> the same values, otherwise laid out.
LAYOUTS: dict[str, ArrayMap] = {
    "Fortran order": partial(np.array, order="F"),
    "strides over the last axis": _strided,
    "strides over the first axis": partial(_strided, axis=0),
    "negative strides": _reversed,
    "permuted axes": _permuted,
}

#: Those in which one argument lies alone, beside the others as they were.
_ALONE = ("Fortran order", "permuted axes")


def _broadcast(array: ndarray, axis: int | None) -> ndarray:
    """Return zero strides along an axis, None for all: values repeat the first along it."""
    if array.ndim == 0 or not array.size:
        return array
    first = array.take([0], axis=axis) if axis is not None else array.reshape(-1)[:1].reshape((1,) * array.ndim)
    return np.broadcast_to(_roomy(first, array.size), array.shape)


def layouts(session: CheckSession) -> Iterator[CheckResult]:
    """GC130 and GC131: forward and backward on rearranged arguments."""
    evaluators = session.diverse(SOME, 2)
    found, refused = Findings(session), ""
    for number, ev in enumerate(evaluators):
        for fault in _Moved(ev, session.rng(700 + number)).faults():
            is_misfit = fault.is_refusal and session.checkable.infer is None  # and cases declare no layout
            if is_misfit or fault.culprit:
                own = f" ({fault.culprit}, which the op calls, does so itself)" if fault.culprit else ""
                refused = refused or f"not served: {fault.said}{own}"
            else:
                found.add(fault.code, fault.said, ev, evidence=Evidence(ev.case, share=fault.share))
    session.notes += [refused] if refused else []
    yield from found.told(("GC130", "GC131"), len(evaluators))


def _strides(inputs: Mapping[str, Any], douts: Results = ()) -> _Strides:
    """Return how the arguments of forward, or of backward, lie in memory."""
    return tuple(array.strides for array in (*(item for _, item in leaves_of(inputs)), *douts))


class _Moved:
    """One case with what it gives, and what its values give where they lie otherwise in memory."""

    def __init__(self, ev: Evaluator, rng: Generator) -> None:
        self.ev = ev
        self.douts = ev.drawn(rng, 2)
        self.gradients = self._pulled(ev.inputs, self.douts) if ev.leaves and ev.slots else []
        # Arrays of one axis lie alike in several layouts.
        self.tried = {_strides(ev.inputs), _strides(ev.inputs, self.douts)}
        # How many units of the arrays' dtype an op may be off by; of its own where it computes in a coarser one.
        form = ev.checkable.format
        self.ulps = COARSE_ULPS * FORMATS[form].eps / FORMATS["float32"].eps if form else SUM_ULPS

    def faults(self) -> Iterator[_Fault]:
        """Yield what comes of all ways to lie: of all arguments alike, and of one beside the others as they were."""
        ev = self.ev
        leaves = [leaf for leaf, _ in leaves_of(ev.inputs)]
        for name, change in LAYOUTS.items():
            ways = [(leaves, False, "arguments"), ([], True, "an incoming gradient"), (leaves, True, "all arguments")]
            if name in _ALONE:
                ways += [([leaf], False, f"{leaf} alone") for leaf in leaves]
            for moved, is_turned, who in ways:
                inputs = ev.inputs
                for leaf in moved:
                    inputs = ev.replaced(leaf, frozen(change(ev.array(leaf))), inputs)
                yield from self._called(inputs, change if is_turned else None, f"{who} with {name}")
        yield from self._shared()
        # All strides are zero in the gradient of a sum, one in what was expanded or comes of a sum over an axis.
        has_axes = any(array.ndim > 1 for array in (*self.douts, *ev.case.arrays))
        spread = (self._spread(axis) for axis in ((0, -1, None) if has_axes else (0,)))
        yield from islice(chain.from_iterable(spread), 1)

    def _called(self, inputs: dict[str, Any], change: ArrayMap | None, where: str) -> Iterator[_Fault]:
        """Yield what forward, and backward with what it is handed changed too, make of inputs that lie otherwise."""
        if self._is_new(_strides(inputs)):
            yield from self._compared("GC130", partial(self.ev.forward, inputs), self.ev.outputs, where, self.ev.inputs)
        douts = [change(item) for item in self.douts] if change else self.douts
        if self.gradients and self._is_new(_strides(inputs, douts)):
            call = partial(self._pulled, inputs, douts, change)
            yield from self._compared("GC131", call, self.gradients, where, self.ev.inputs)

    def _is_new(self, lies: _Strides) -> bool:
        is_new = lies not in self.tried
        self.tried.add(lies)
        return is_new

    def _pulled(
        self, inputs: dict[str, Any], douts: list[ndarray], change: ArrayMap | None = None
    ) -> list[ndarray | None]:
        """Run backward on rearranged arrays, with forward's results rearranged as well where they are handed over."""
        ev, backward = self.ev, self.ev.checkable.backward
        if change is None or backward is None or ev.checkable.vjp is not None:
            return ev.pulled(douts, inputs=inputs)
        outputs = [frozen(change(item)) for item in ev.outputs]
        found = backward(inputs, outputs, [frozen(item) for item in douts], ev.attrs, ev.needs)
        return list(ev.by_leaf(found).values())

    def _compared(
        self,
        code: str,
        call: Callable[[], Sequence[Any]],
        expected: Sequence[ndarray | None],
        where: str,
        inputs: dict[str, Any],
        of: Any = (),
    ) -> Iterator[_Fault]:
        """Yield what is wrong with a call on rearranged arguments: that it was refused, unless it was a write, too.

        Ulps are those of the largest of ``of`` at least, and of all that forward gave: one of several results may be
        the small difference of numbers of the others' size.
        """
        is_forward = code == "GC130"
        who = "forward" if is_forward else "backward"
        try:
            found = list(call())
        except Exception as error:  # user code
            text = f"{who} raised {words_of(error)} for {where}"
            yield _Fault(code, text, is_refusal=not is_write(error))
            return
        sizes = (*of, *expected) if is_forward else of
        least = max((largest(item) for item in sizes if is_float(item)), default=0.0)
        if same(expected, found, self.ulps, least):
            return
        run = self.ev.forward if is_forward else partial(self._pulled, douts=self.douts)
        eps = min((resolution_of(item) for item in expected if item is not None and is_float(item)), default=1.0)
        shift = rounding_shift(run, inputs)  # the results of a singular matrix follow rounding alone
        if shift <= LITTLE and not same(expected, found, MANY * shift / eps, least):
            pairs = [(one, other) for one, other in zip(expected, found) if one is not None and is_float(one)]
            off = [largest(one - other) / (largest(one) or 1.0) for one, other in pairs if one.shape == np.shape(other)]
            share = max(off, default=np.inf)
            yield _Fault(
                code, f"{who} gave another result for {where}: it differs by {share:.1e} of its size", share=share
            )

    def _shared(self) -> Iterator[_Fault]:
        """Two arguments that are views of one buffer, against the same values in buffers of their own."""
        ev = self.ev
        leaves = [(leaf, array) for leaf, array in leaves_of(ev.inputs) if array.size > 1 and is_float(array)]
        for (first, array), (second, other) in pairwise(leaves):
            if array.shape != other.shape or array.dtype != other.dtype:
                continue
            flat = _roomy(array, array.size).reshape(-1)
            whole, turned = flat.reshape(array.shape), flat[::-1].reshape(array.shape)
            for view, how in ((whole, "the same array"), (turned, "views of one buffer")):
                inputs = ev.replaced(first, frozen(whole))
                with suppress(Exception):  # these values lie outside the domain
                    apart = ev.replaced(second, frozen(view.copy()), inputs)
                    expected = snapshot(ev.forward(apart))
                    call = partial(ev.forward, ev.replaced(second, frozen(view), inputs))
                    yield from self._compared("GC130", call, expected, f"{first} and {second} as {how}", apart)

    def _spread(self, axis: int | None) -> Iterator[_Fault]:
        """Zero strides change values, so both sides of the comparison are made of the same repeated values.

        Whole numbers stay: places and lengths that repeat may be none that are meant.
        """
        ev, gradients = self.ev, self.gradients
        repeated = ev.map_inputs(lambda array: frozen(_broadcast(array, axis)) if is_float(array) else array)
        plain = ev.map_inputs(lambda array: frozen(_broadcast(array, axis).copy()) if is_float(array) else array)
        if gradients and ev.entries:
            spread = [_broadcast(item, axis) for item in self.douts]
            with suppress(Exception):  # then the layout is not the cause
                dense = self._pulled(ev.inputs, [item.copy() for item in spread])
                call = partial(self._pulled, ev.inputs, spread)
                where = "an incoming gradient with zero strides"
                yield from self._compared("GC131", call, dense, where, ev.inputs, gradients)
        with suppress(Exception):  # the repeated values lie outside the domain
            expected, forward = snapshot(ev.forward(plain)), partial(ev.forward, repeated)
            if _is_finite(ev.outputs) and not _is_finite(expected):
                return  # the repeated values lie outside the domain, as a singular matrix does
            faults = [*self._compared("GC130", forward, expected, "arguments with zero strides", plain, ev.outputs)]
            if gradients:
                dense, call = self._pulled(plain, self.douts), partial(self._pulled, repeated, self.douts)
                where = "forward's inputs with zero strides"
                faults += self._compared("GC131", call, dense, where, plain, gradients)
            culprit = ev.checkable.culprit(repeated, ev.attrs) if faults else ""
            yield from (replace(fault, culprit=culprit) for fault in faults)


def _is_finite(outputs: Sequence[Any]) -> bool:
    return all(np.isfinite(item).all() for item in outputs if is_float(item))
