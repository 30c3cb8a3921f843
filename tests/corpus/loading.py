"""Loads a row of the corpus as `opkit gradcheck` does: written to a folder, its spec compiled, its kernels bound.

The one place where the corpus meets the loader.
"""

from __future__ import annotations

from pathlib import Path

from opkit.checker import OpReport, Options, check
from opkit.project.directory import op_directory_of
from opkit.project.loading import assemble
from opkit.shim import frameworks
from opkit.verify.subjects.directory import checkables_of
from tests.corpus.model import Mutant, Op, write

__all__ = ["report_of"]


def report_of(op: Op, folder: Path, mutant: Mutant | None = None, options: Options | None = None) -> OpReport | None:
    """Check a row of the corpus; None where its directory does not build."""
    directory = write(op, folder, mutant)
    with frameworks():
        loaded = assemble(op_directory_of(directory))
        cases = loaded.cases()
    made = checkables_of(loaded, cases)
    if not made or any(item.is_error for item in loaded.diagnostics):
        return None
    return check(made[0], options or Options())
