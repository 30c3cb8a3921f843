"""Namespaces: the functions of Python and numpy as they were before user code ran, and which of them are others now."""

from __future__ import annotations

import builtins
import math

import numpy as np

#: Taken when this module is imported, which is before any file of a user's.
_KEPT = [
    (module.__name__, vars(module), {name: value for name, value in vars(module).items() if callable(value)})
    for module in (builtins, math, np, np.linalg, np.random)
]


def changed() -> list[str]:
    """Return the names of functions and classes that were replaced or removed since."""
    return [
        f"{label}.{name}"
        for label, namespace, kept in _KEPT
        for name, value in kept.items()
        if namespace.get(name) is not value
    ]
