"""Silence: inputs for which backward gives nothing, and whether their names say that they are meant as constants.

torch and JAX take a missing gradient for zeros, so nothing but the meaning of an input tells a constant from a gradient
that was forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from opkit.checker import Case
from opkit.checker.model.own import Fault, OwnCheck
from opkit.verify.codes import SILENT
from opkit.verify.subjects.foreign.subject import ForeignRunner

#: Words in the names of inputs that training changes or that come out of other layers: they need a gradient.
_OPEN = frozenset(
    (
        *("x", "x1", "x2", "input", "inputs", "inp", "a", "b", "u", "v", "w", "p", "q", "k", "weight", "weights"),
        *("bias", "affine", "query", "key", "value", "logits", "left"),
        *("right", "other", "z", "h", "hidden", "data", "feat", "features", "matrix", "mat", "vec", "lhs", "rhs"),
    )
)
#: Words in the names of inputs that are data about the others.
_CLOSED = frozenset(
    (
        *("mask", "target", "targets", "label", "labels", "index", "indices", "idx", "noise", "eps", "epsilon"),
        *("length", "lengths", "running", "momentum", "teacher", "prob", "rand", "random", "seed", "grid", "step"),
        *("threshold", "min", "max", "lower", "upper", "zero", "gt", "truth", "onehot", "table", "positions"),
        *("reference", "const", "constant", "detached", "lambda", "lambd", "lam", "coeff", "rate", "dropout"),
    )
)
#: Words of what a loss compares with, beside which weights are shares of classes.
_LABELS = frozenset(("target", "targets", "label", "labels", "truth", "gt"))
_SHARES = frozenset(("weight", "weights"))


@dataclass(frozen=True, slots=True)
class Silence:
    """What was made of inputs without a gradient.

    Args:
        constants: those that count as constants.
        checks: a check that says so, where a name does not.
    """

    constants: frozenset[str] = frozenset()
    checks: Sequence[OwnCheck] = ()


def silence(runner: ForeignRunner, case: Case, *, is_loss: bool) -> Silence:
    """Decide what becomes of inputs for which backward gives nothing.

    Args:
        runner: runs the function.
        case: arguments that it takes.
        is_loss: whether it returns one number: its second operand may be what the first is compared with.
    """
    try:
        silent = runner.silent_inputs(case.inputs, case.attrs)
    except Exception:  # user code: the checks report what it raises
        return Silence()
    names = [name for name in case.inputs if name in silent]
    first = next(iter(case.inputs), "")
    is_affine = any(_has(name, frozenset({"gamma", "beta"})) and name not in silent for name in case.inputs)
    has_labels = any(_has(name, _LABELS) for name in case.inputs)
    constants = [
        name
        for name in names
        if name != first and (not _is_open(name, is_loss, is_affine) or (has_labels and _has(name, _SHARES)))
    ]
    doubtful = [name for name in constants if not _has(name, _CLOSED) and not (is_loss and name.lower() == "y")]
    checks = [OwnCheck(SILENT, partial(_matters, runner, name)) for name in doubtful]
    return Silence(frozenset(constants), checks)


def _is_open(name: str, is_loss: bool, is_affine: bool) -> bool:
    """Say whether an input needs a gradient; ``is_affine``: gamma or beta has one, so that the other is no option."""
    if _has(name, _CLOSED):
        return False
    if _has(name, frozenset({"gamma", "beta"})):
        return is_affine
    return _has(name, _OPEN) or (name.lower() == "y" and not is_loss)


def _has(name: str, words: frozenset[str]) -> bool:
    return any(word in words for word in name.lower().split("_"))


def _matters(
    runner: ForeignRunner,
    name: str,
    arrays: Mapping[str, Any],
    attrs: Mapping[str, Any],
    douts: Sequence[np.ndarray],
) -> list[Fault]:
    """GC208: say so where the results depend on an input without a gradient."""
    value = arrays.get(name)
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return []
    first = [np.array(item) for item in runner.forward(arrays, attrs)]
    try:
        moved = runner.forward({**arrays, name: value * 1.0009765625 + 2.0**-20}, attrs)
    except Exception:  # these values lie outside the domain
        return []
    if all(np.array_equal(one, other, equal_nan=True) for one, other in zip(first, moved)):
        return []
    message = f"backward gives no gradient for {name}, on which the result depends"
    return [Fault(f"{message}: it counts as a constant", is_certain=False, input=name)]
