"""The fake kernel of a library op against the real one (GC206): shapes, dtypes, strides and devices.

It is run on every case with sizes as they are, and once more with sizes that are symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.model.own import Fault, OwnCheck
from opkit.listed import each
from opkit.verify.codes import FAKE
from opkit.verify.subjects.source_location import location_of
from opkit.verify.subjects.torch.tensors import tensors_in

if TYPE_CHECKING:
    from opkit.verify.subjects.torch.library import LibraryRunner

#: What a comparison gives that finds nothing: in what kernels differ, and the sentence for it.
_AGREES = ("", "")
#: Signatures that are run with symbolic sizes too, which takes longer.
_SYMBOLIC = 6


def fake_check(runner: LibraryRunner) -> OwnCheck:
    """Return the check of an op's fake kernel."""
    return OwnCheck(FAKE, partial(_check, runner, set(), []), is_forward=True, is_thorough=True)


def _check(
    runner: LibraryRunner,
    known: set[str],
    agreed: list[Arrays],
    arrays: Arrays,
    attrs: Attrs,
    _douts: Results,
) -> list[Fault]:
    if _is_known(arrays, attrs, known):
        return []
    where = location_of(runner.op._abstract_fn)
    _, fault = _fault(runner, arrays, attrs, len(known) <= _SYMBOLIC) or _AGREES
    double = {name: _each(value, _doubled) for name, value in arrays.items()}
    if not fault and not _is_known(double, attrs, known):  # an op whose results are always float32 has no such case
        _, fault = _fault(runner, double, attrs, is_symbolic=False) or _AGREES
        if fault:
            arrays, fault = double, f"{fault}, for float64 inputs"
    if not fault:  # nothing declares how inputs lie, cases neither, and strides follow from it
        layout = partial(_transposed, runner.device.private)
        what, fault = _fault(runner, arrays, attrs, len(known) <= _SYMBOLIC, layout) or _AGREES
        said = f"{fault}, for inputs that lie transposed in memory; torch.compile uses the fake one's"
        agreed += [] if fault or _is_single(arrays) else [arrays]
        return [Fault(said, is_certain=what != "strides", where=where)] if fault else []
    other, what = _agreeing(runner, arrays, attrs)
    if not other and agreed and _is_single(arrays):  # sizes of 1 alone answer for nothing
        other, what = agreed[0], "single numbers"
    if other:
        shapes = ", ".join(f"{name} of shape {list(np.shape(value))}" for name, value in other.items())
        advice = f"it agrees for {shapes}: refuse {what} in the op, or name inputs in a cases function"
        return [Fault(f"{fault}; {advice}", is_beyond=True, where=where)]
    return [Fault(fault, where=where)]


def _is_single(arrays: Arrays) -> bool:
    """Return whether no input has more than one element."""
    return all(np.size(value) < 2 for value in arrays.values() if isinstance(value, np.ndarray))


def _is_known(arrays: Arrays, attrs: Attrs, known: set[str]) -> bool:
    """Return whether inputs of these shapes and dtypes were met, and remember them."""
    signature = str([(name, _each(value, _signature)) for name, value in (*arrays.items(), *attrs.items())])
    is_known = signature in known
    known.add(signature)
    return is_known


def _agreeing(runner: LibraryRunner, arrays: Arrays, attrs: Attrs) -> tuple[Mapping[str, Any], str]:
    """Return other inputs, where the fake kernel agrees with the real one and is written for these, and what is not so.

    With fewer axes: its results have as many axes for more axes of the inputs, or it raises for them. With more, or
    larger: the real one gives results of the same shapes, for it broadcasts. Nothing is returned where neither is.
    """
    ranks, fewer = _ranks(runner, arrays, attrs), _cut(arrays)
    while fewer:
        if _fault(runner, fewer, attrs, is_symbolic=False) == _AGREES:
            return (fewer, "more axes") if ranks in (None, _ranks(runner, fewer, attrs)) else ({}, "")
        fewer = _cut(fewer)
    shapes = _shapes(runner, arrays, attrs)
    same = (one for one in _grown(arrays, shapes or ()) if _shapes(runner, one, attrs) == shapes)
    agree = (one for one in same if _fault(runner, one, attrs, is_symbolic=False) == _AGREES)
    return next(((one, "what it broadcasts") for one in agree), ({}, ""))


def _fault(
    runner: LibraryRunner,
    arrays: Arrays,
    attrs: Attrs,
    is_symbolic: bool,
    layout: Callable[[np.ndarray], Any] | None = None,
) -> tuple[str, str] | None:
    """Return in what the fake kernel differs from the real one, and say so; None where the real one takes no such."""
    try:
        values = {name: _each(value, layout or runner.device.private) for name, value in arrays.items()}
        with torch.no_grad():
            real = runner.results({**attrs, **values})
    except Exception:  # user code, which the layout check reports, or a device without float64
        return None
    found = _compared(runner, values, attrs, real, is_symbolic=False)
    return _compared(runner, values, attrs, real, is_symbolic=True) if found == _AGREES and is_symbolic else found


def _cut(arrays: Arrays) -> dict[str, Any]:
    """Return the first entry of every input along its first axis; nothing where one is no array, or is a vector."""
    whole = [value for value in arrays.values() if value is not None]
    if not all(isinstance(value, np.ndarray) and value.ndim > 1 and value.size for value in whole):
        return {}
    return {name: None if value is None else np.ascontiguousarray(value[0]) for name, value in arrays.items()}


def _grown(arrays: Arrays, shapes: Sequence[tuple[int, ...]]) -> Iterator[dict[str, Any]]:
    """Yield inputs of which one array is broadcast to the shape of a result, or along an axis, or has one more axis."""
    given = {name: value for name, value in arrays.items() if isinstance(value, np.ndarray)}
    sizes = dict.fromkeys(size for value in given.values() for size in value.shape if size)
    for name, value in given.items():
        for shape in shapes:
            with suppress(ValueError):  # it cannot be
                yield {**arrays, name: np.broadcast_to(value, shape)}
        ones = [axis for axis, size in enumerate(value.shape) if size == 1]
        yield from ({**arrays, name: np.repeat(value, size, axis)} for size, axis in product(sizes, ones))
        yield from ({**arrays, name: np.stack([value] * size, axis)} for size, axis in product(sizes, (0, -1)))


def _compared(
    runner: LibraryRunner, values: Mapping[str, Any], attrs: Attrs, real: Sequence[Any], is_symbolic: bool
) -> tuple[str, str]:
    """Return in what the fake kernel's results differ from the real ones, and say so."""
    how = " with symbolic sizes" if is_symbolic else ""
    try:
        found = _faked(runner, values, attrs, is_symbolic)
    except Exception as error:  # user code, or what torch says of it
        return "raises", f"the fake kernel raises{how}: {type(error).__name__}: {str(error).strip().splitlines()[0]}"
    if len(found) != len(real):
        return "number", f"the fake kernel gives {len(found)} tensors{how}, the real one {len(real)}"
    for place, (fake, own) in enumerate(zip(found, real)):
        which = f" of result {place}" if len(real) > 1 else ""
        for what, one, other in (
            ("shape", _numbers(fake.shape), tuple(own.shape)),
            ("dtype", fake.dtype, own.dtype),
            ("device", fake.device, own.device),
            ("strides", _numbers(fake.stride()), own.stride()),
        ):
            if one != other and not (what == "strides" and _lie_alike(own.shape, one, other)):
                return what, f"the fake kernel gives the {what} {_shown(one)}{which}{how}, the real one {_shown(other)}"
    return _AGREES


def _ranks(runner: LibraryRunner, arrays: Arrays, attrs: Attrs) -> list[int] | None:
    """Return the number of axes of each of the fake kernel's results, None where it raises."""
    values = {name: _each(value, runner.device.private) for name, value in arrays.items()}
    try:
        return [item.dim() for item in _faked(runner, values, attrs)]
    except Exception:  # user code
        return None


def _shapes(runner: LibraryRunner, arrays: Arrays, attrs: Attrs) -> list[tuple[int, ...]] | None:
    """Return the shapes of the real kernel's results, None where it raises."""
    try:
        return [np.shape(item) for item in runner.forward(arrays, attrs)]
    except Exception:  # user code
        return None


def _faked(runner: LibraryRunner, values: Arrays, attrs: Attrs, is_symbolic: bool = False) -> list[Any]:
    """Return what the fake kernel gives for tensors."""
    mode = FakeTensorMode(shape_env=ShapeEnv() if is_symbolic else None)
    with mode, torch.no_grad():
        return tensors_in(
            runner.called({**attrs, **{key: _each(item, mode.from_tensor) for key, item in values.items()}})
        )


def _shown(value: Any) -> str:
    return str(list(value)) if isinstance(value, tuple) else str(value)


def _numbers(sizes: Sequence[Any]) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else int(size.node.hint) for size in sizes)


def _lie_alike(sizes: Sequence[int], strides: Sequence[int], others: Sequence[int]) -> bool:
    """Return whether strides agree as far as they mean something: those of axes with at most one element do not."""
    return 0 in sizes or all(size == 1 or one == other for size, one, other in zip(sizes, strides, others))


def _each(value: Any, change: Any) -> Any:
    """Return a value with its arrays changed; numbers, also those of a list, stay as they are."""
    return each(lambda item: change(item) if isinstance(item, (np.ndarray, torch.Tensor)) else item, value)


def _doubled(value: Any) -> Any:
    return value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype == np.float32 else value


def _transposed(private: Callable[[np.ndarray], Any], array: np.ndarray) -> Any:
    """Return a tensor of the same values whose first axis of several elements is the innermost."""
    axis = next((axis for axis, size in enumerate(array.shape) if size > 1), -1)
    return (
        private(np.ascontiguousarray(np.moveaxis(array, axis, -1))).movedim(-1, axis) if array.ndim else private(array)
    )


def _signature(value: Any) -> str:
    return f"{value.dtype}{list(value.shape)}"
