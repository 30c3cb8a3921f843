"""Checkers of torch's custom functions compared: opkit, ``torch.autograd.gradcheck`` (slow, fast, tight), ``opcheck``.

Each name of the corpus of torch is given to opkit as ``opkit gradcheck`` does; the others get float64 tensors with the
values of the first three cases that opkit's search or the file's cases give. ``opcheck`` runs on library ops.

Run: python benchmarks/torch_compare.py [--markdown FILE] [NAME...]
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from opkit.checker import Checkable, Options, Status
from opkit.checker.collect import collect
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.trial import Trial
from opkit.verify.subjects.foreign.framework import framework_of
from opkit.verify.subjects.torch.library import is_library_op
from opkit.verify.subjects.torch.runner import Runner
from tests.corpus.torch_corpus import FILES, checked, loaded, names_in

#: What each way of torch's gradcheck is called, and its options.
WAYS: dict[str, dict[str, Any]] = {
    "gradcheck": {},
    "fast mode": {"fast_mode": True},
    "tight": {"atol": 1e-9, "rtol": 1e-7},
}
CASES = 3


def cases_of(checkable: Checkable) -> list[Any]:
    """Return the first ordinary cases that opkit would check."""
    options = Options()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = collect(checkable, options, Trial(checkable)).cases
    full = [case for case in found if all(array.size for _, array in leaves_of(case.inputs))]
    return full[:CASES]


def is_accused(checkable: Checkable, case: Any, options: dict[str, Any]) -> bool:
    """Say whether torch's gradcheck accuses the function that a checkable runs, at one case."""
    runner = getattr(checkable.vjp, "__self__", None)
    if not isinstance(runner, Runner):  # a function that draws random numbers: the others cannot check it
        return False
    leaves = [(name, array) for name, array in case.inputs.items() if isinstance(array, np.ndarray)]
    tensors = [
        torch.from_numpy(np.array(array, dtype=np.float64)).requires_grad_(name in (checkable.gradients or ()))
        if array.dtype.kind == "f"
        else torch.from_numpy(np.array(array))
        for name, array in leaves
    ]

    def function(*values: Any) -> Any:
        given = {**case.inputs, **dict(zip((name for name, _ in leaves), values))}
        results = runner.results({**case.attrs, **given})
        return tuple(item for item in results if item.requires_grad)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return not torch.autograd.gradcheck(function, tensors, raise_exception=False, **options)
    except Exception:  # a checker that raises has accused
        return True


def is_refused(op: Any, case: Any) -> bool:
    """Say whether ``torch.library.opcheck`` accuses a library op at one case."""
    values = {
        name: torch.from_numpy(np.array(value)).requires_grad_(value.dtype.kind == "f")
        if isinstance(value, np.ndarray)
        else [torch.from_numpy(np.array(item)) for item in value]
        if isinstance(value, list)
        else value
        for name, value in case.inputs.items()
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.library.opcheck(op, (), {**case.attrs, **{k: v for k, v in values.items() if v is not None}})
    except Exception:
        return True
    return False


def main() -> None:
    """Print one row for each class of functions."""
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--markdown")
    given = parser.parse_args()
    framework = framework_of("torch")
    columns = ["opkit", *WAYS, "opcheck"]
    table: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    seconds: dict[str, float] = defaultdict(float)
    for file, is_right in FILES.items():
        names = vars(loaded(file))
        for name in names_in(file):
            if given.names and name not in given.names:
                continue
            kind = f"{'correct' if is_right else 'faulty'}: {names.get('FAULTS', {}).get(name, file)}"
            row = table[kind]
            row["of"] += 1
            begun = time.process_time()
            report = checked(file, name)
            seconds["opkit"] += time.process_time() - begun
            row["opkit"] += report.status in (Status.FAIL, Status.ERROR)
            served = framework.named(names[name], names, name, Options())
            cases = cases_of(served.checkables[0]) if served.checkables else []
            for way, options in WAYS.items():
                begun = time.process_time()
                row[way] += any(is_accused(served.checkables[0], case, options) for case in cases)
                seconds[way] += time.process_time() - begun
            if is_library_op(names[name]):
                begun = time.process_time()
                row["opcheck"] += any(is_refused(names[name], case) for case in cases)
                seconds["opcheck"] += time.process_time() - begun
    total = sum(row["of"] for row in table.values())
    lines = [f"| accused | of | {' | '.join(columns)} |", "|---" * (len(columns) + 2) + "|"]
    for kind, row in table.items():
        lines.append(f"| {kind} | {row['of']} | {' | '.join(str(row[column]) for column in columns)} |")
    lines.append(f"| seconds each | {total} | {' | '.join(f'{seconds[column] / total:.2f}' for column in columns)} |")
    print("\n".join(lines))
    if given.markdown:
        Path(given.markdown).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
