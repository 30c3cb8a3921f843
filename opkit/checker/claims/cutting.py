"""Cutting: a case run on several devices as a signature says, and compared with one device.

A cut runs the kernel once per device on what that device has; which signatures are tried is decided elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.claims.subject import Subject, Whole
from opkit.checker.model.checkable import describe_inputs
from opkit.checker.model.evaluate import snapshot
from opkit.checker.model.numbers import largest, place_of
from opkit.checker.model.thresholds import SUM_ULPS
from opkit.ir import Shape
from opkit.record import record
from opkit.sharding import Arg, Sbp, cut, gathered, shard_sizes


class Outcome(Enum):
    """What a cut showed."""

    HOLDS = "holds"
    VALUES = "other values"
    SHAPES = "shards of other sizes"
    RAISED = "the kernel raised"
    REFUSED = "the definition refuses the shards"
    EMPTY = "a shard without elements cannot be computed"


@record
class Wrong:
    """Where devices and one device disagree.

    Args:
        arg: the result.
        element: index of the worst element, None where shapes differ.
        expected, actual: the values there, or the sizes.
        bound: how far apart they may be.
        device: the device that has another shape or value, None where all were put together.
    """

    arg: Arg
    element: Shape | None
    expected: Any
    actual: Any
    bound: float | None = None
    device: int | None = None


@record
class Cut:
    """The outcome of one cut: how it went, where it is wrong, and what was raised."""

    outcome: Outcome
    wrong: Wrong | None = None
    message: str = ""
    error: Exception | None = None


@record
class Shards:
    """What the devices had and returned: one entry per device."""

    inputs: Sequence[Mapping[Arg, ndarray]]
    outputs: Sequence[Mapping[Arg, ndarray]]


def is_empty_cut(whole: Whole, parts: Mapping[Arg, Sbp], count: int) -> bool:
    """Return whether an axis is split that is shorter than the number of devices."""
    return any(sbp.is_split and whole.inputs[arg].shape[sbp.axis] < count for arg, sbp in parts.items())


def as_named(values: Mapping[Arg, ndarray], like: Mapping[str, Any]) -> dict[str, Any]:
    """Return arrays by argument in the form of named inputs: a list where there was one."""
    return {
        name: [values[name, index] for index in range(len(value))]
        if isinstance(value, (list, tuple))
        else None
        if value is None
        else values[name, 0]
        for name, value in like.items()
    }


def run_shards(subject: Subject, whole: Whole, parts: Mapping[Arg, Sbp], count: int, rng: Generator) -> Shards | Cut:
    """Cut the inputs and run the kernel on what each device has; return the shards, or why there are none.

    Args:
        subject: the op.
        whole: the case, run on one device.
        parts: how each input is cut.
        count: of devices.
        rng: draws partial sums.
    """
    cuts = {arg: cut(array, parts[arg], count, rng) for arg, array in whole.inputs.items()}
    inputs = [{arg: np.array(shards[device], order="C") for arg, shards in cuts.items()} for device in range(count)]
    outputs = []
    for device, held in enumerate(inputs):
        is_empty = any(array.size == 0 and whole.inputs[arg].size for arg, array in held.items())
        named = as_named(held, whole.case.inputs)
        if subject.claims.refuse is not None:
            refusal = subject.claims.refuse(describe_inputs(named), whole.case.attrs)
            if refusal:
                return Cut(Outcome.EMPTY if is_empty else Outcome.REFUSED, message=f"device {device}: {refusal}")
        given = as_named({arg: array.copy() for arg, array in held.items()}, whole.case.inputs)
        try:
            results = snapshot(subject.run(given, whole.case.attrs))
        except Exception as error:  # user code
            said = f"device {device}: {type(error).__name__}: {error}"
            return Cut(Outcome.EMPTY if is_empty else Outcome.RAISED, message=said, error=error)
        if is_empty and not all(np.isfinite(item).all() for item in results if item.dtype.kind in "fc"):
            return Cut(Outcome.EMPTY, message=f"device {device} returned NaN or infinity")
        args = subject.outputs(len(results))
        if list(args) != list(whole.outputs):
            wrong = Wrong(next(iter(whole.outputs)), None, len(whole.outputs), len(results), device=device)
            return Cut(Outcome.SHAPES, wrong, f"device {device} returned {len(results)} results")
        outputs.append(dict(zip(args, results)))
    return Shards(inputs, outputs)


def compared(whole: Whole, shards: Shards, arg: Arg, sbp: Sbp) -> Cut:
    """Compare one result of all devices with one device's, lying as the signature says."""
    parts = [outputs[arg] for outputs in shards.outputs]
    return matched(arg, whole.outputs[arg], parts, sbp, whole.bounds[arg], whole.resolution)


def matched(arg: Arg, expected: ndarray, parts: Sequence[ndarray], sbp: Sbp, bound: float, resolution: float) -> Cut:
    """Compare what devices have with the whole that it should be.

    Args:
        arg: what it is.
        expected: the whole on one device.
        parts: one per device.
        sbp: how they are claimed to lie.
        bound: by how much the whole may be off.
        resolution: of the arithmetic: sums of larger parts round more.
    """
    if not sbp.fits(expected.ndim):
        return Cut(Outcome.SHAPES, Wrong(arg, None, f"an axis {sbp.axis}", f"shape {list(expected.shape)}"))
    shape = list(expected.shape)
    for device, part in enumerate(parts):
        if sbp.is_split:
            shape[sbp.axis] = shard_sizes(expected.shape[sbp.axis], len(parts))[device]
        if list(part.shape) != shape:
            return Cut(Outcome.SHAPES, Wrong(arg, None, shape, list(part.shape), device=device))
    if sbp.kind == "B":
        every = (_worst(arg, expected, part, bound, device) for device, part in enumerate(parts))
        wrong = next(filter(None, every), None)
    else:
        if sbp.kind == "P" and expected.dtype.kind == "b":
            parts = [np.asarray(part).astype(np.int64) for part in parts]
        if sbp.kind == "P" and expected.dtype.kind in "fc":
            bound += SUM_ULPS * resolution * sum(map(largest, parts))
        wrong = _worst(arg, expected, gathered(parts, sbp), bound, None)
    return Cut(Outcome.HOLDS) if wrong is None else Cut(Outcome.VALUES, wrong)


def _worst(arg: Arg, expected: ndarray, actual: ndarray, bound: float, device: int | None) -> Wrong | None:
    """Return the element that is off by most, None where all are within the bound."""
    if expected.size == 0:
        return None
    if expected.dtype.kind in "fc" or actual.dtype.kind in "fc":
        off = np.abs(np.asarray(actual - expected))
        off = np.where(np.isnan(off), np.inf, off)
    else:
        off = np.abs(actual.astype(object) - expected.astype(object)).astype(float)
    worst = int(np.argmax(off))
    if float(off.flat[worst]) <= bound:
        return None
    index = place_of(worst, off.shape)
    return Wrong(arg, index, expected[index].item(), actual[index].item(), bound, device)
