"""opkit: the workbench for custom operators written in Python.

Everything public here is loaded on first use, so that ``import opkit`` and ``opkit --help`` stay quick.
"""

from __future__ import annotations

from opkit.beginning import IS_COMMAND as _IS_COMMAND  # isort: skip  # noqa: F401 (first of all)

from typing import TYPE_CHECKING

from opkit.deferred import deferred

if TYPE_CHECKING:
    from opkit.errors import InferError, OpkitError
    from opkit.export import export
    from opkit.ir import TensorDesc
    from opkit.shim import frameworks, run_script
    from opkit.verify import gradcheck
    from opkit.version import __version__

__all__ = ["InferError", "OpkitError", "TensorDesc", "__version__", "export", "frameworks", "gradcheck", "run_script"]

_HOMES = {
    "InferError": "errors",
    "OpkitError": "errors",
    "TensorDesc": "ir",
    "__version__": "version",
    "export": "export",
    "frameworks": "shim",
    "gradcheck": "verify",
    "run_script": "shim",
}

__getattr__ = deferred(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
