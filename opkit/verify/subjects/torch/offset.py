"""Storage offsets (GC130, GC131): tensors that begin in the middle of their memory, as slices and parts of batches do.

numpy's views become tensors that begin where their memory does, so the checks of layouts never see an offset.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from opkit.checker.model.agreement import agree
from opkit.checker.model.own import Fault
from opkit.verify.subjects.torch.device import Device
from opkit.verify.subjects.torch.runner import OwnRunner, gradients_of
from opkit.verify.subjects.torch.tensors import array_of

#: Elements before and after a tensor in its memory.
_BEFORE, _AFTER = 5, 3
_Make = Callable[[np.ndarray], Any]


def forward_offset(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC130: results of inputs with a storage offset are those of inputs without."""
    if runner.changes_inputs:  # what it gets is a tensor of its own
        return []
    make = runner.device.private
    plain = [array_of(item) for item in runner.apply(arrays, attrs, make=make).outputs]
    try:
        moved = [array_of(item) for item in runner.apply(arrays, attrs, make=partial(_within, runner.device)).outputs]
    except Exception as error:  # user code
        return [Fault(f"forward raises for inputs with a storage offset: {type(error).__name__}: {error}")]
    for number, (one, other) in enumerate(zip(plain, moved)):
        if not agree(one, other):
            return [Fault(f"result {number} is another one for inputs with a storage offset")]
    return []


def backward_offset(
    runner: OwnRunner, arrays: Mapping[str, Any], attrs: Mapping[str, Any], douts: Sequence[np.ndarray]
) -> list[Fault]:
    """GC131: gradients of incoming gradients, and of inputs, with a storage offset are those of tensors without."""
    seeds, dense, within = [np.asarray(dout) for dout in douts], runner.device.private, partial(_within, runner.device)
    plain = gradients_of(runner.apply(arrays, attrs, make=dense), [dense(seed) for seed in seeds])
    ways: list[tuple[str, _Make, _Make]] = [("an incoming gradient", dense, within)]
    if not runner.changes_inputs:
        ways.append(("inputs", within, dense))
    for what, make, make_seed in ways:
        try:
            applied = runner.apply(arrays, attrs, make=make)
        except Exception:  # user code: forward's own check reports it
            continue
        try:
            moved = gradients_of(applied, [make_seed(seed) for seed in seeds])
        except Exception as error:  # user code
            return [Fault(f"backward raises for {what} with a storage offset: {type(error).__name__}: {error}")]
        fault = _difference(plain, moved, f"is another one for {what} with a storage offset")
        if fault:
            return [fault]
    return []


def _difference(plain: Mapping[Any, Any], moved: Mapping[Any, Any], what: str) -> Fault | None:
    for (name, index), one in plain.items():
        other = moved.get((name, index))
        if not agree(None if one is None else array_of(one), None if other is None else array_of(other)):
            return Fault(f"the gradient of {name if index is None else f'{name}[{index}]'} {what}", input=name)
    return None


def _within(device: Device, array: np.ndarray) -> Any:
    """Return a tensor of an array's values within a larger memory, whose other elements are NaN where they can be."""
    count = array.size
    memory = np.full(_BEFORE + count + _AFTER, np.nan if array.dtype.kind == "f" else 0, array.dtype)
    memory[_BEFORE : _BEFORE + count] = array.reshape(-1)
    return device.share(memory)[_BEFORE : _BEFORE + count].view(array.shape)
