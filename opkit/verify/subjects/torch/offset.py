"""Storage offsets (GC130, GC131): tensors that begin in the middle of their memory, as slices and parts of batches do.

numpy's views become tensors that begin where their memory does, so the checks of layouts never see an offset.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from opkit.checker.model.agreement import agree
from opkit.checker.model.own import Fault
from opkit.ops.core.types import Function
from opkit.verify.subjects.foreign.running import differing, raised
from opkit.verify.subjects.torch.device import Device
from opkit.verify.subjects.torch.step import Step
from opkit.verify.subjects.torch.tensors import array_of

#: Elements before and after a tensor in its memory.
_BEFORE, _AFTER = 5, 3


def forward_offset(step: Step) -> Iterator[Fault]:
    """GC130: results of inputs with a storage offset are those of inputs without."""
    if step.runner.changes_inputs:  # what it gets is a tensor of its own
        return
    plain = step.apply(step.apart).outputs
    try:
        moved = step.apply(partial(_within, step.runner.device)).outputs
    except Exception as error:  # user code
        yield raised("forward raises for inputs with a storage offset", error)
        return
    for number, (one, other) in enumerate(zip(plain, moved)):
        if not agree(array_of(one), array_of(other)):
            yield Fault(f"result {number} is another one for inputs with a storage offset")


def backward_offset(step: Step) -> Iterator[Fault]:
    """GC131: gradients of incoming gradients, and of inputs, with a storage offset are those of tensors without."""
    dense, within = step.apart, partial(_within, step.runner.device)
    plain = step.gradients(step.apply(dense))
    ways: list[tuple[str, Function, Function]] = [("an incoming gradient", dense, within)]
    if not step.runner.changes_inputs:
        ways.append(("inputs", within, dense))
    for what, make, make_seed in ways:
        try:
            applied = step.apply(make)
        except Exception:  # user code: forward's own check reports it
            continue
        try:
            moved = step.gradients(applied, [make_seed(np.asarray(dout)) for dout in step.douts])
        except Exception as error:  # user code
            yield raised(f"backward raises for {what} with a storage offset", error)
            return
        yield from differing(plain, moved, f"is another one for {what} with a storage offset")


def _within(device: Device, array: np.ndarray) -> Any:
    """Return a tensor of an array's values within a larger memory, whose other elements are NaN where they can be."""
    count = array.size
    memory = np.full(_BEFORE + count + _AFTER, np.nan if array.dtype.kind == "f" else 0, array.dtype)
    memory[_BEFORE : _BEFORE + count] = array.reshape(-1)
    return device.share(memory)[_BEFORE : _BEFORE + count].view(array.shape)
