"""Samples: values of a forward around the element at which it failed, for a script that cannot run the forward itself.

A fresh interpreter loads the target once more and runs it; the script is written elsewhere.
"""

from __future__ import annotations

import math
import os
import sys
from dataclasses import dataclass

import numpy as np

from opkit.checker import Checkable
from opkit.verify.failures.store import Failure
from opkit.verify.isolation.blame import show_paths_from
from opkit.verify.isolation.child import FreshCall, Outbox, Task
from opkit.verify.isolation.limits import MEBIBYTE, memory_resident
from opkit.verify.isolation.supervisor import Supervisor, can_fork
from opkit.verify.options import RunOptions
from opkit.verify.targets.load import load
from opkit.verify.targets.target import resolve

__all__ = ["run", "samples"]

_STEPS = 10.0 ** np.arange(-2, -9, -1)
#: Seconds for loading and some calls where the run has no time limit.
_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Request:
    failure: Failure
    options: RunOptions
    folder: str


def samples(failure: Failure, options: RunOptions) -> dict[str, np.ndarray]:
    """Return steps (K,), and the values above and below at each; nothing where they cannot be had."""
    if None in (failure.facts.get("element"), failure.facts.get("output_element")) or not can_fork():
        return {}
    call = FreshCall(__name__, "run", _Request(failure, options, os.getcwd()))
    task = Task(0, call, options.timeout or _SECONDS)
    found = [message for _, message in Supervisor(1).run([task]) if isinstance(message, dict)]
    return found[0] if found else {}


def run(request: _Request, outbox: Outbox) -> None:
    """Load the target of a failure and send its samples; in a fresh interpreter."""
    failure, options = request.failure, request.options
    sys.dont_write_bytecode = True
    show_paths_from(request.folder)
    os.chdir(request.folder)
    held = memory_resident()
    outbox.flight.allow(held + options.memory * MEBIBYTE if held and options.memory else math.inf)
    (target,) = resolve([f"{failure.facts.get('root')}::{str(failure.facts['op']).rpartition('::')[2]}"])
    first = load(target, options, outbox.flight).checkables[0]
    second = first.second if failure.facts["result"]["check"] == "second_order" else None
    outbox.send(_sampled(second or first, failure))


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
