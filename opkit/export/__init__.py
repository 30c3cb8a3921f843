"""Export: an op leaves the workbench as one readable file for torch or JAX, proved there to be the same op.

The package can be called: ``opkit.export(target, to="torch")`` is ``opkit.export.export(...)``.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from opkit.export.api import Exported, export
from opkit.export.model import ExportError
from opkit.export.proof import ProofResult

__all__ = ["ExportError", "Exported", "ProofResult", "export"]


class _Room(ModuleType):
    """A module that is its main function too, since the import of a package takes its name in the parent."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Export an op."""
        return export(*args, **kwargs)


sys.modules[__name__].__class__ = _Room
