"""Names of numpy 1 that numpy 2 does not have, for scripts of that time: put back when a run asks for it.

Only names whose meaning is plain are here; numpy is not changed otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np


def _find_common_type(array_types: Any, scalar_types: Any) -> Any:
    """Return the dtype that numpy 1's function of this name returned for arrays' and scalars' dtypes."""
    arrays = [np.dtype(item) for item in array_types]
    scalars = [np.dtype(item) for item in scalar_types]
    wide = np.result_type(*arrays) if arrays else None
    narrow = np.result_type(*scalars) if scalars else None
    if wide is None or narrow is None:
        return narrow if wide is None else wide
    kinds = "buifc"
    return narrow if kinds.find(narrow.kind) > kinds.find(wide.kind) else wide


def _asfarray(a: Any, dtype: Any = np.float64) -> Any:
    """Return an array of a floating-point dtype."""
    kind = np.dtype(dtype)
    return np.asarray(a, kind if kind.kind in "fc" else np.float64)


#: name -> what it was; names that this numpy has are left alone
_NAMES: dict[str, Any] = {
    "Inf": np.inf,
    "Infinity": np.inf,
    "NAN": np.nan,
    "NINF": -np.inf,
    "NZERO": -0.0,
    "NaN": np.nan,
    "PINF": np.inf,
    "PZERO": 0.0,
    "alltrue": np.all,
    "asfarray": _asfarray,
    "asscalar": lambda a: a.item(),
    "bool": bool,
    "cfloat": np.complex128,
    "complex": complex,
    "complex_": np.complex128,
    "cumproduct": np.cumprod,
    "find_common_type": _find_common_type,
    "float": float,
    "float_": np.float64,
    "in1d": np.isin,
    "infty": np.inf,
    "int": int,
    "int0": np.intp,
    "longfloat": np.longdouble,
    "mat": np.asmatrix,
    "msort": lambda a: np.sort(a, axis=0),
    "object": object,
    "object0": np.object_,
    "product": np.prod,
    "round_": np.round,
    "row_stack": np.vstack,
    "singlecomplex": np.complex64,
    "sometrue": np.any,
    "str": str,
    "string_": np.bytes_,
    "trapz": getattr(np, "trapezoid", None),
    "uint0": np.uintp,
    "unicode_": np.str_,
}


def _reshape(reshape: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``np.reshape`` that takes its shape as ``newshape`` too, as numpy 1 called it."""

    @wraps(reshape)
    def function(a: Any, *args: Any, **kwargs: Any) -> Any:
        if "newshape" in kwargs and not args:  # by its place: numpy 2.0 does not know it as "shape" yet
            args = (kwargs.pop("newshape"),)
        return reshape(a, *args, **kwargs)

    return function


#: How numpy words the error about a name that it no longer has.
_ERROR = re.compile(r"(?:module 'numpy' has no attribute '|`np\.)(\w+)['`]")


@contextmanager
def numpy1_names() -> Iterator[None]:
    """Let numpy have the names of numpy 1 within the block.

    Example:
        >>> with numpy1_names():
        ...     np.product([2, 3])
        np.int64(6)
    """
    missing = [name for name, value in _NAMES.items() if value is not None and name not in vars(np)]
    for name in missing:
        setattr(np, name, _NAMES[name])
    reshape = np.reshape
    np.reshape = _reshape(reshape)
    try:
        yield
    finally:
        np.reshape = reshape
        for name in missing:
            delattr(np, name)


def removed_name(error: BaseException) -> str:
    """Return the name of numpy 1 that an error is about and that ``numpy1_names`` puts back; "" where it is another."""
    found = _ERROR.search(str(error)) if isinstance(error, AttributeError) else None
    return found[1] if found and found[1] in _NAMES else ""
