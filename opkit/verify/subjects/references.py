"""References: declared functions of numpy arrays that results are compared with, run in any floating-point format.

Those of other frameworks are run by their runners; what is compared is the checker's business.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Options, Results
from opkit.checker.model.reference import InFormat, Reference
from opkit.checker.model.types import Computed
from opkit.listed import listed
from opkit.ops.core.types import Function
from opkit.project.module import load_module
from opkit.verify.options import NamedError
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.input_formats import narrow
from opkit.verify.subjects.parameters import Parameters, parameters_in


def referred(declared: Declared, run: InFormat) -> Reference:
    """Return a declared reference, run by ``run``; with a surrogate beside, that is for the gradients."""
    name = str(getattr(declared.reference, "__name__", "the reference"))
    return Reference(name, run, getattr(run, "has_gradient", True), declared.surrogate is None)


def reference_in(options: Options) -> Function | None:
    """Return the function that options name as the reference, None where they name none.

    Raises:
        NamedError: there is no such function.
    """
    given = options.reference
    if given is None or callable(given):
        found: Function | None = given
        return found
    module, _, name = str(given).rpartition(":")
    if not module or not name:
        raise NamedError(
            f"--reference takes MODULE:FUNCTION, got {given!r}", help="for example --reference slow.py:gelu"
        )
    sys.path.insert(0, os.getcwd())
    try:
        home = load_module(module) if module.endswith(".py") else import_module(module)
        found = getattr(home, name)
    except Exception as error:  # user code
        raise NamedError(f"--reference {given} cannot be had: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(os.getcwd())
    if not callable(found):
        raise NamedError(f"--reference {given} is not a function")
    return found


def taken_by(function: Function, known: Parameters) -> Parameters | None:
    """Return the parameters of a function that takes some of the known arguments by name; None of one that does not."""
    try:
        own = parameters_in(function)
    except ValueError:
        return None
    own = replace(own, tuples=known.tuples, trees=known.trees)
    return None if own.starred or own.takes_any or set(own.names) - set(known.names) else own


class NumpyReference:
    """A function of numpy arrays in any format; its gradient is measured by whoever needs it.

    Args:
        call: (arrays, attributes) -> what the function gives.
    """

    has_gradient = False

    def __init__(self, call: Callable[[Mapping[str, Any], Mapping[str, Any]], Any]) -> None:
        self._call = call

    @staticmethod
    def of(function: Function, parameters: Parameters) -> NumpyReference:
        """Return a function that takes the arguments of another one, or some of them by name."""
        own = taken_by(function, parameters)

        def call(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> Any:
            values = parameters.shown({**attrs, **{key: value for key, value in arrays.items() if value is not None}})
            if own is None:
                args, rest = parameters.filled({name: values[name] for name in parameters.names if name in values})
                return function(*args, **rest)
            return function(**{name: value for name, value in values.items() if name in own.names})

        return NumpyReference(call)

    def __call__(self, arrays: Arrays, attrs: Attrs, douts: Results | None, format: str) -> Computed:
        """Run the function; see ``opkit.checker.model.reference.InFormat``."""
        result = self._call(narrow(arrays, dict.fromkeys(arrays, format)), attrs)
        items = listed(result)
        found = [np.asarray(item) for item in items]
        return [item.astype(np.float64) if item.dtype.kind in "fV" else item for item in found], {}
