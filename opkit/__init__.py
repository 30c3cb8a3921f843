"""opkit: the workbench for custom operators written in Python.

Everything public here is loaded on first use, so that ``import opkit`` and ``opkit --help`` stay quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opkit.errors import InferError, OpkitError
    from opkit.ir import TensorDesc
    from opkit.shim import frameworks, run_script
    from opkit.verify import gradcheck

__version__ = "0.1.0"

__all__ = ["InferError", "OpkitError", "TensorDesc", "__version__", "frameworks", "gradcheck", "run_script"]

_HOMES = {
    "InferError": "opkit.errors",
    "OpkitError": "opkit.errors",
    "TensorDesc": "opkit.ir",
    "frameworks": "opkit.shim",
    "gradcheck": "opkit.verify",
    "run_script": "opkit.shim",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'opkit' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
