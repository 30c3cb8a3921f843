"""Together: forward and the whole gradient registration on what each device has, against one device.

Where a tensor is whole its gradient is a sum over devices, where it is a sum its gradient is whole; a split stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from opkit.checker.claims.cutting import Cut, Outcome, Shards, as_named, matched
from opkit.checker.claims.prove import Refutation, Tally
from opkit.checker.claims.subject import Whole, args_of, bound_of, nudge
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.evaluate import is_float
from opkit.checker.model.numbers import largest
from opkit.checker.model.thresholds import MAGNITUDES
from opkit.checker.model.types import Attrs, Results
from opkit.sharding import Arg, cut


def follow(checkable: Checkable, tallies: Sequence[Tally], seed: int) -> None:
    """Run the gradient of the cuts that hold; enter in the tallies whether it follows."""
    for place, tally in enumerate(tallies):
        for number, (whole, count, shards) in enumerate(tally.kept):
            rng = np.random.default_rng([seed, place, number])
            found = _follows(checkable, tally, whole, count, shards, rng)
            if found is None:
                continue
            if found.outcome is not Outcome.HOLDS:
                tally.gradient = Refutation(whole, count, found)
                break
            tally.gradients += 1


def _follows(
    checkable: Checkable, tally: Tally, whole: Whole, count: int, shards: Shards, rng: Generator
) -> Cut | None:
    """Compare the gradients of one cut; None where there is none on one device."""
    signature = tally.signature
    backward = checkable.backward
    if signature is None or backward is None:
        return None
    named = whole.case.inputs
    outputs = list(whole.outputs.values())
    douts = {arg: incoming(item, rng) for arg, item in whole.outputs.items()}
    bound = checkable.bound(named, whole.case.attrs)
    floats = {arg[0] for arg, array in whole.inputs.items() if is_float(array)}
    needs = frozenset(floats if bound is None else floats & bound)
    if not needs:
        return None
    expected = _gradients(checkable, named, outputs, list(douts.values()), whole.case.attrs, needs)
    if expected is None:
        return None
    nudged = _nudged(checkable, whole, list(douts.values()), needs, rng)
    lies = dict(signature.outputs)
    cuts = {arg: cut(dout, lies[arg].dual, count, rng) for arg, dout in douts.items()}
    # Of whole outputs the devices' shares of the incoming gradient add up: any copy may be the one that is used.
    found: list[dict[Arg, ndarray]] = []
    for device in range(count):
        held = as_named(shards.inputs[device], named)
        results = list(shards.outputs[device].values())
        given = [np.array(cuts[arg][device]) for arg in whole.outputs]
        try:
            gradients = backward(held, results, given, whole.case.attrs, needs)
        except Exception as error:  # user code
            return Cut(Outcome.RAISED, message=f"device {device}: {type(error).__name__}: {error}", error=error)
        found.append(args_of({name: value for name, value in gradients.items() if value is not None}))
    for arg, gradient in expected.items():
        if any(arg not in one for one in found):
            continue
        moved = largest(gradient - nudged[arg]) if arg in nudged else 0.0
        limit = bound_of(gradient, moved, whole.resolution)
        parts = [one[arg] for one in found]
        judged = matched(arg, gradient, parts, dict(signature.inputs)[arg].dual, limit, whole.resolution)
        if judged.outcome is not Outcome.HOLDS:
            return judged
    return Cut(Outcome.HOLDS)


def _nudged(
    checkable: Checkable, whole: Whole, douts: Results, needs: frozenset[str], rng: Generator
) -> dict[Arg, ndarray]:
    """Return the gradients at inputs that differ in their last digits, none where they cannot be had."""
    inputs = nudge(whole.case.inputs, rng)
    try:
        outputs = [np.array(item) for item in checkable.forward(inputs, whole.case.attrs)]
    except Exception:  # user code at the edge of its domain
        return {}
    return _gradients(checkable, inputs, outputs, douts, whole.case.attrs, needs) or {}


def incoming(output: ndarray, rng: Generator) -> ndarray:
    """Return an incoming gradient of both signs; zeros for what is not differentiated."""
    if not is_float(output):
        return np.zeros_like(output)
    return np.asarray(rng.uniform(*MAGNITUDES, output.shape) * rng.choice([-1.0, 1.0], output.shape)).astype(
        output.dtype
    )


def _gradients(
    checkable: Checkable,
    inputs: Mapping[str, Any],
    outputs: Results,
    douts: Results,
    attrs: Attrs,
    needs: frozenset[str],
) -> dict[Arg, ndarray] | None:
    """Return the gradients on one device, None where they are not finite or backward raises (gradcheck's business)."""
    assert checkable.backward is not None
    try:
        found = checkable.backward(inputs, outputs, douts, attrs, needs)
    except Exception:  # user code
        return None
    gradients = args_of({name: value for name, value in found.items() if value is not None})
    finite = all(np.isfinite(item).all() for item in gradients.values() if item.dtype.kind == "f")
    return {arg: np.array(item) for arg, item in gradients.items()} if finite and gradients else None
