"""What ``--effort`` does: the cases checked and the seconds taken, for ops of the corpus, over three orders.

Each op is loaded once and checked in this process; the time is the processor's, and the check's alone. What every op
has is the time at the lowest effort: the search, and the checks that take a fixed number of cases.

Run: python benchmarks/gradcheck_effort.py [OP...]
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import sys
import tempfile
from pathlib import Path
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from opkit.checker import Checkable, Options, check
from opkit.project.directory import op_directory_of
from opkit.project.loading import assemble
from opkit.shim import frameworks
from tests.corpus.loading import checkables_of
from tests.corpus.model import write
from tests.corpus.ops import OPS

EFFORTS = (0.02, 0.2, 1.0, 5.0, 20.0)
#: An elementwise op, one with an attribute, a product of matrices, one that couples rows, one with labels.
USUAL = ("cube_tanh", "swish", "phase_grid", "layer_norm", "cross_entropy_prob")


def loaded(name: str, folder: Path) -> Checkable:
    """Return one op of the corpus."""
    directory = op_directory_of(write(OPS[name], folder))
    assert directory is not None
    return next(iter(checkables_of(assemble(directory))))


def main(names: list[str]) -> None:
    """Print one row for each op."""
    chosen = [name for name in names or USUAL if name in OPS]
    print("| op | " + " | ".join(f"effort {effort:g}" for effort in EFFORTS) + " |")
    print("|---" * (len(EFFORTS) + 1) + "|")
    with tempfile.TemporaryDirectory() as folder, frameworks():
        for name in chosen:
            cells = []
            for effort in EFFORTS:
                made = loaded(name, Path(folder) / f"{effort:g}")
                begun = process_time()
                report = check(made, Options(effort=effort))
                cells.append(f"{report.tried[0].split()[0]} cases, {process_time() - begun:.2f} s")
            print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
