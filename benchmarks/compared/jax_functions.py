"""The corpus of JAX's custom_vjp and custom_jvp under opkit and JAX's check_grads, with its defaults and tight."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import jax
import numpy as np
from jax.test_util import check_grads

from benchmarks.compared.table import Table
from opkit.checker import Checkable, OpReport, Options, Status, check
from opkit.checker.collect import collect
from opkit.checker.model.evaluate import leaves_of
from opkit.checker.model.trial import Trial
from opkit.verify.isolation.announced_calls import SingleProcess
from opkit.verify.subjects.jax.framework import framework
from opkit.verify.subjects.jax.function import function_subject
from tests.verify.test_jax import DATA, loaded, names_in

__all__ = ["compared"]

#: What each way of JAX's check is called, and its options.
WAYS: dict[str, dict[str, Any]] = {
    "jax check_grads": {},
    "jax tight": {"atol": 1e-9, "rtol": 1e-6, "eps": 1e-6},
}
#: How many cases the others get.
CASES = 3


def compared(only: frozenset[str] = frozenset()) -> Table:
    """Return every function of the corpus, or some, under every checker."""
    table = Table("JAX")
    for file, group in (("faults", "wrong rule"), ("right", "correct functions")):
        names = vars(loaded(file))
        for name in names_in(file):
            if not only or name in only:
                with warnings.catch_warnings(), np.errstate(all="ignore"):
                    warnings.simplefilter("ignore")
                    given = {**names, "__file__": str(DATA / f"{file}.py")}
                    _compare(table, given, name, group, file == "faults")
        print(f"jax: {file} is done", file=sys.stderr)
    return table


def _compare(table: Table, names: dict[str, Any], name: str, group: str, is_faulty: bool) -> None:
    with table.timed(name, group, is_faulty, "opkit") as verdict:
        served = framework.named(names[name], names, name, Options())
        report = served if isinstance(served, OpReport) else check(SingleProcess().over(served), Options())
        verdict.append(report.status in (Status.FAIL, Status.ERROR))
    served = framework.named(names[name], names, name, Options())
    cases = _cases(served) if isinstance(served, Checkable) else []
    for way, options in WAYS.items():
        with table.timed(name, group, is_faulty, way) as verdict:
            verdict.append(any(_is_accused(served, names[name], case, options) for case in cases))


def _cases(checkable: Checkable) -> list[Any]:
    found = collect(checkable, Options(), Trial(checkable)).cases
    return [case for case in found if all(array.size for _, array in leaves_of(case.inputs))][:CASES]


def _is_accused(checkable: Checkable, function: Any, case: Any, options: dict[str, Any]) -> bool:
    """Say whether check_grads accuses a function at one case; it accuses by raising, as whatever raises does."""
    runner: Any = function_subject(function).make(frozenset(case.inputs), frozenset())
    with jax.enable_x64(True):
        call = runner.call_of(case.inputs, case.attrs)
        wide = [leaf.astype(np.float64) if leaf.dtype.kind == "f" else leaf for leaf in call.arrays]
        gradients = frozenset(checkable.gradients or ())
        opened = [n for n in call.opened if call.places[n].name in gradients]

        def of_open(*chosen: Any) -> Any:
            whole = list(wide)
            for place, leaf in zip(opened, chosen):
                whole[place] = leaf
            return [item for item in call.function(*whole) if jax.numpy.issubdtype(item.dtype, np.floating)]

        modes = ("rev",) if isinstance(function, jax.custom_vjp) else ("fwd", "rev")
        try:
            check_grads(of_open, tuple(jax.numpy.asarray(wide[place]) for place in opened), 1, modes, **options)
        except Exception:
            return True
    return False
