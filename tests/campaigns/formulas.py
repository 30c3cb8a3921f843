"""Gradcheck what ``opkit new --from`` makes of the formulas in the tests: ``python -m tests.campaigns.formulas [KIND...]``.

Kinds are numpy, cpp (kernels in C++ too, beside numpy's), torch_function, torch_op and jax_function; without any, numpy.
``--ends`` takes the formulas of tests/formula/ends.py instead: those that are unstable as written, and those that are not.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import opkit
from opkit.errors import UsageError
from opkit.formula import design
from opkit.project import KINDS, parse_attr, scaffold_formula
from tests.formula.ends import STABLE, UNSTABLE
from tests.formula.formulas import FORMULAS

ENDS = {f"end_{number}": (text, {}) for number, text in enumerate(UNSTABLE)} | {name: FORMULAS[name] for name in STABLE}


def write(kind: str, formulas: Mapping[str, tuple[str, Mapping[str, float]]], folder: Path) -> int:
    """Write the ops of a kind, print those that have no kernels of this kind, and return how many formulas are weak."""
    weak = 0
    for formula, (text, attrs) in formulas.items():
        name = f"op_{formula}"  # a module wave.py would hide Python's
        parsed = [parse_attr(f"{attr}:double={value}") for attr, value in attrs.items()]
        made = design(text, attrs)
        weak += bool(made.weak())
        scaffolded = kind if kind in KINDS else "elementwise"
        try:
            scaffold_formula(name, folder, made, parsed, kind=scaffolded, cpp=kind == "cpp")
        except UsageError as error:
            print(name, error.message)
            scaffold_formula(name, folder, made, parsed, kind=scaffolded)
    return weak


def main(kinds: list[str], formulas: Mapping[str, tuple[str, Mapping[str, float]]]) -> int:
    """Write the ops of each kind, check them, print what does not pass and the counts."""
    is_bad = False
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            weak = write(kind, formulas, Path(folder))
            report = opkit.gradcheck(folder, effort=0.2)
        for op in report.ops:
            if op.status != "pass":
                print(kind, op.op, op.status, next((item.message for item in op.findings), ""))
        passed = sum(op.status == "pass" for op in report.ops)
        print(f"{kind}: {passed} of {len(report.ops)} ops of {len(formulas)} formulas pass; {weak} said to be weak", flush=True)
        is_bad |= passed != len(report.ops)
    return is_bad


if __name__ == "__main__":
    asked = [item for item in sys.argv[1:] if item != "--ends"]
    sys.exit(main(asked or ["numpy"], ENDS if "--ends" in sys.argv else FORMULAS))
