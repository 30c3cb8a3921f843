"""Gradcheck what ``opkit new --cpp-kernel`` writes for every kind with definitions: ``python -m tests.campaigns.cpp_kinds``.

Both kernels of each op are checked; exits with 1 where one does not pass.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import opkit
from opkit.project import KINDS, scaffold


def main() -> int:
    """Write the ops, check them, print the status of each."""
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS.values():
            if kind.has_spec:
                scaffold(f"t_{kind.name}", Path(folder), kind.name, ["alpha:float=0.5"], cpp=True)
        report = opkit.gradcheck(folder, effort=0.2)
        for op in report.ops:
            print(op.op, op.status.value)
        return int(any(op.status.value != "pass" for op in report.ops))


if __name__ == "__main__":
    sys.exit(main())
