"""Loads a row of the corpus as `opkit gradcheck` does: written to a folder, its spec compiled, its kernels bound.

The one place where the corpus meets the loader.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from opkit.checker import Checkable, OpReport, Options, check
from opkit.project.directory import op_directory_of
from opkit.project.loading import LoadedOps, assemble
from opkit.shim import frameworks
from opkit.verify.subjects.directory import checkable_of
from tests.corpus.model import Mutant, Op, write

__all__ = ["checkables_of", "report_of"]


def checkables_of(loaded: LoadedOps, module: ModuleType | None = None) -> tuple[Checkable, ...]:
    """Return a checkable for each forward op of a loaded directory that can be run."""
    made = (checkable_of(loaded, loaded.ops[name], module) for name in loaded.forward_ops)
    return tuple(item for item in made if item is not None)


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
