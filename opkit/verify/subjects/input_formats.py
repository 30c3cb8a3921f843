"""Input formats: functions of numpy arrays that take other formats than float32, run on float32 arrays of such numbers.

Which formats a function takes is found out by whoever makes a checkable of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Results
from opkit.checker.checks.reference import cast_to, ran
from opkit.checker.model.formats import FORMATS, HALVES, coarsest
from opkit.checker.model.reference import InFormat
from opkit.checker.model.types import Computed, Ran
from opkit.errors import UsageError
from opkit.listed import each, listed

#: The name of a format of ``opkit.checker.model.formats`` by input.
Formats = Mapping[str, str]
#: Runs a function: (arrays, attributes) -> its results and the way back.
Runs = Callable[[Arrays, Attrs], Ran]
#: Inputs up to which all mixtures of float32 with half precision are tried: arrays that a run saw may not tell them.
_MOST_MIXED = 4


def formats_in(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the floating-point format of each value that has one, arrays and tensors of any framework among them."""
    dtypes = {name: [getattr(item, "dtype", "") for item in listed(value)[:1]] for name, value in values.items()}
    named = {name: str(found[0]).rpartition(".")[2] for name, found in dtypes.items() if found}
    return {name: dtype for name, dtype in named.items() if dtype in FORMATS}


def formats_tried(given: Formats, inputs: frozenset[str]) -> Iterator[Formats]:
    """Yield the formats in which a function may take its inputs that takes neither float32 nor float64 alone.

    Args:
        given: those that an example has.
        inputs: all that take arrays.
    """
    mine = {name: dtype for name, dtype in given.items() if name in inputs}
    if len(set(mine.values())) > 1:
        yield dict.fromkeys(inputs, coarsest(mine)) | mine
    halves = sorted(HALVES, key=lambda name: name not in mine.values())
    for name in halves:
        yield dict.fromkeys(inputs, name)
    names = sorted(inputs)
    for name in halves if len(names) <= _MOST_MIXED else ():
        for chosen in product(("float32", name), repeat=len(names)):
            if len(set(chosen)) > 1:
                yield dict(zip(names, chosen))


def numpy_dtype(format: str) -> Any:
    """Return a format as a dtype of numpy.

    Raises:
        UsageError: ml_dtypes, which has bfloat16, is not installed.
    """
    if format != "bfloat16":
        return np.dtype(format)
    try:
        return np.dtype(import_module("ml_dtypes").bfloat16)
    except ImportError:
        raise UsageError("numpy has bfloat16 with ml_dtypes alone", help="pip install ml-dtypes") from None


def narrow(arrays: Arrays, formats: Formats) -> dict[str, Any]:
    """Return inputs in their formats."""
    return {
        name: cast_to(value, numpy_dtype(formats[name])) if name in formats else value for name, value in arrays.items()
    }


def widen(value: Any) -> Any:
    """Return an array, or each of a list, as float32 where it is of half precision."""

    def wide(item: Any) -> Any:
        return item.astype(np.float32) if getattr(getattr(item, "dtype", None), "name", "") in HALVES else item

    return each(wide, value)


def as_given(usual: Runs, narrow: Runs, formats: Formats) -> InFormat:
    """Return what runs a function in the formats of an example, which are called by the coarsest of them.

    Args:
        usual: hands on arrays as they are.
        narrow: hands them on in the formats.
        formats: of the example.
    """

    def run(arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        if format == coarsest(formats):
            return ran(narrow, arrays, attrs, douts, "float32")
        if format in HALVES:
            raise UsageError(f"no case is of {format}")
        return ran(usual, arrays, attrs, douts, format)

    return run
