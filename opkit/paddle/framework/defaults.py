"""The default dtype of floats."""

from __future__ import annotations

from typing import Any

from opkit.errors import DtypeError
from opkit.ir import canonical_dtype

_default = ["float32"]


def default_dtype() -> str:
    """Return the name of the dtype that Python floats become."""
    return _default[0]


def get_default_dtype() -> str:
    """Return the name of the dtype that Python floats become."""
    return _default[0]


def set_default_dtype(d: Any) -> None:
    """Choose the dtype that Python floats become.

    Raises:
        DtypeError: it is not a floating-point dtype.
    """
    name = canonical_dtype(d)
    if not name.startswith("float"):
        raise DtypeError(f"set_default_dtype takes a floating-point dtype, got {name}")
    _default[0] = name
