"""The corpus of torch Functions and library ops under opkit, torch's gradcheck (slow, fast, tight) and opcheck."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.compared.table import Table
from opkit.checker import Checkable, Options, Status
from opkit.checker.collect import collect
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.trial import Trial
from opkit.verify.subjects.foreign.framework import framework_of
from opkit.verify.subjects.torch.library import is_library_op
from opkit.verify.subjects.torch.recorder import subject_of
from tests.corpus.torch_corpus import FILES, checked, loaded, names_in

__all__ = ["cases_of", "compared"]

#: What each way of torch's gradcheck is called, and its options.
WAYS: dict[str, dict[str, Any]] = {
    "torch slow": {},
    "torch fast": {"fast_mode": True},
    "torch tight": {"atol": 1e-9, "rtol": 1e-6},
}
#: The groups of what has no class of faults.
GROUPS = {
    "right": "correct Functions",
    "tricky": "tricky correct Functions",
    "library": "correct library ops",
    "library_faults": "library op",
    "undecided": "correct Functions whose forward overflows",
}
#: How many cases the others get.
CASES = 3


def compared(only: frozenset[str] = frozenset()) -> Table:
    """Return every name of the corpus, or some, under every checker."""
    torch.set_num_threads(1)
    table = Table("torch")
    for file, is_right in FILES.items():
        names = vars(loaded(file))
        for name in names_in(file):
            if not only or name in only:
                kind = names.get("FAULTS", {}).get(name, file)
                group = GROUPS.get(kind, kind)
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    _compare(table, file, name, group, not is_right and kind != "undecided")
        print(f"torch: {file} is done", file=sys.stderr)
    return table


def _compare(table: Table, file: str, name: str, group: str, is_faulty: bool) -> None:
    names = vars(loaded(file))
    op = f"{file}.{name}"
    with table.timed(op, group, is_faulty, "opkit") as verdict:
        verdict.append(checked(file, name).status in (Status.FAIL, Status.ERROR))
    checkable = framework_of("torch").named(names[name], names, name, Options())
    cases = cases_of(checkable) if isinstance(checkable, Checkable) else []
    for way, options in WAYS.items():
        with table.timed(op, group, is_faulty, way) as verdict:
            verdict.append(any(is_accused(checkable, names[name], case, options) for case in cases))
    if is_library_op(names[name]):
        with table.timed(op, group, is_faulty, "opcheck") as verdict:
            verdict.append(any(is_refused(names[name], case) for case in cases))


def cases_of(checkable: Checkable) -> list[Any]:
    """Return the first ordinary cases that opkit would check."""
    found = collect(checkable, Options(), Trial(checkable)).cases
    full = [case for case in found if all(array.size for _, array in leaves_of(case.inputs))]
    return full[:CASES]


def is_accused(checkable: Checkable, target: Any, case: Any, options: dict[str, Any]) -> bool:
    """Say whether torch's gradcheck accuses a Function or library op at one case; what raises has accused."""
    subject = subject_of(target)
    runner: Any = subject.make(frozenset(case.inputs), frozenset())
    opened = frozenset(checkable.gradients or ())
    leaves = [(name, place, item) for name, value in case.inputs.items() for place, item in _items(value)]
    tensors = [_tensor(item, name in opened) for name, _, item in leaves]

    def function(*values: Any) -> Any:
        given: dict[str, Any] = {}
        for (name, place, _), value in zip(leaves, values):
            if place is None:
                given[name] = value
            else:
                given.setdefault(name, []).append(value)
        results = runner.results({**case.attrs, **{name: given.get(name) for name in case.inputs}})
        return tuple(item for item in results if item.requires_grad)

    try:
        return not torch.autograd.gradcheck(function, tensors, raise_exception=False, **options)
    except Exception:
        return True


def _items(value: Any) -> Sequence[tuple[int | None, np.ndarray]]:
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    return [] if value is None else [(None, value)]


def _tensor(array: np.ndarray, is_open: bool) -> Any:
    if array.dtype.kind != "f":
        return torch.from_numpy(np.array(array))
    return torch.from_numpy(np.array(array, dtype=np.float64)).requires_grad_(is_open)


def is_refused(op: Any, case: Any) -> bool:
    """Say whether ``torch.library.opcheck`` accuses a library op at one case."""
    values: dict[str, Any] = {}
    for name, value in case.inputs.items():
        if isinstance(value, (list, tuple)):
            values[name] = [_tensor(item, True) for item in value]
        elif value is not None:
            values[name] = _tensor(value, True)
    try:
        torch.library.opcheck(op, (), {**case.attrs, **values})
    except Exception:
        return True
    return False
