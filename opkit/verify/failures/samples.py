"""Samples: values of a forward around the element at which it failed, for a script that cannot run the forward itself.

The target is loaded once more and runs it; the script is written elsewhere.
"""

from __future__ import annotations

import numpy as np

from opkit.checker import Checkable
from opkit.verify.failures.reloaded import Request, asked, loaded
from opkit.verify.failures.store import Failure
from opkit.verify.isolation.child import Outbox
from opkit.verify.options import RunOptions

_STEPS = 10.0 ** np.arange(-2, -9, -1)


def samples(failure: Failure, options: RunOptions) -> dict[str, np.ndarray]:
    """Return steps (K,), and the values above and below at each; nothing where they cannot be had."""
    if None in (failure.facts.get("element"), failure.facts.get("output_element")):
        return {}
    return asked(__name__, failure, options) or {}


def run(request: Request, outbox: Outbox) -> None:
    """Load the target of a failure and send its samples; in a fresh interpreter."""
    first = loaded(request, outbox).checkables[0]
    second = first.second if request.failure.facts["result"]["check"] == "second_order" else None
    outbox.send(_sampled(second or first, request.failure))


def _sampled(checkable: Checkable, failure: Failure) -> dict[str, np.ndarray]:
    element, output = tuple(failure.facts["element"]), tuple(failure.facts["output_element"])
    name, which = failure.key[1], failure.key[2]
    names = [arg.name for arg in checkable.outputs]
    place = names.index(which) if which in names else 0
    sides: list[list[float]] = [[], []]
    for side, sign in zip(sides, (1, -1)):
        for step in _STEPS:
            moved = {
                key: np.array(value) if isinstance(value, np.ndarray) else value
                for key, value in failure.case.inputs.items()
            }
            moved[name][element] += sign * step
            side.append(float(checkable.forward(moved, failure.case.attrs)[place][output]))
    return {"steps": _STEPS, "above": np.array(sides[0]), "below": np.array(sides[1])}
