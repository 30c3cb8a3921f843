"""Gradcheck every op that ``opkit new --from`` makes of the formulas in the tests: ``python -m tests.campaigns.formulas``.

With ``--cpp-kernel`` their kernels in C++ too, beside those in Python.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import opkit
from opkit.errors import UsageError
from opkit.formula import design
from opkit.project import parse_attr, scaffold_formula
from tests.formula.formulas import FORMULAS


def main() -> int:
    """Write the ops, with kernels in C++ where there can be some, check them, print what does not pass and the count."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (text, attrs) in FORMULAS.items():
            parsed = [parse_attr(f"{attr}:double={value}") for attr, value in attrs.items()]
            made = design(text, attrs)
            try:
                scaffold_formula(name, Path(folder), made, parsed, cpp="--cpp-kernel" in sys.argv)
            except UsageError as error:
                print(name, error.message)
                scaffold_formula(name, Path(folder), made, parsed)
        report = opkit.gradcheck(folder)
        passed = [op for op in report.ops if op.status == "pass"]
        for op in report.ops:
            if op.status != "pass":
                print(op.op, op.status)
        print(f"{len(passed)} of {len(report.ops)} ops of {len(FORMULAS)} formulas pass")
        return len(passed) != len(report.ops)


if __name__ == "__main__":
    sys.exit(main())
