"""Replaced: functions and classes of Python and numpy that user code put others in the place of; found, and put back.

What a change means is not decided here.
"""

from __future__ import annotations

import builtins
import json
import math
import pickle
import sys
import traceback

import numpy as np

#: Taken when this module is imported, which is before any file of a user's. A notebook has another ``input`` per cell.
_KEPT = [
    (
        module.__name__,
        vars(module),
        {name: value for name, value in vars(module).items() if callable(value) and name != "input"},
    )
    for module in (builtins, math, np, np.linalg, np.random)
]
#: Modules that are imported again and again, and are found in ``sys.modules`` then.
_MODULES = {module.__name__: module for module in (builtins, json, np, pickle, sys, traceback)}


def put_back() -> list[str]:
    """Return the names of what was replaced or removed, and put it back."""
    found: list[str] = []
    for label, namespace, kept in _KEPT:
        for name, value in kept.items():
            if namespace.get(name) is not value:
                found.append(f"{label}.{name}")
                namespace[name] = value
    for name, module in _MODULES.items():
        if sys.modules.get(name) is not module:
            found.append(f"sys.modules[{name!r}]")
            sys.modules[name] = module
    return found
