"""Replaced: functions and classes of Python, numpy and frameworks that user code put others in the place of; put back.

What a change means is not decided here.
"""

from __future__ import annotations

import builtins
import json
import math
import pickle
import sys
import traceback
from builtins import getattr, setattr  # noqa: A004  # user code may replace
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

#: {what messages call it: (a module, class or member, what must stay of it)}.
_KEPT: dict[str, tuple[Any, dict[str, Any]]] = {}
#: Whom ``sys.setprofile`` was last called with before user code ran.
_profiler: list[Any] = []
#: Modules that are imported again and again, and are found in ``sys.modules`` then.
_MODULES = {module.__name__: module for module in (builtins, json, np, pickle, sys, traceback)}


def keep(label: str, owner: Any, names: Iterable[str] = ()) -> None:
    """Take what a module or class holds as it is now, all functions or what is named; once for each label."""
    if label not in _KEPT:
        named = {name: getattr(owner, name) for name in names if hasattr(owner, name)}
        _KEPT[label] = owner, named or {name: value for name, value in vars(owner).items() if callable(value)}


def keep_packages(packages: tuple[str, ...]) -> None:
    """Take the functions, the constants and the outcomes of all that is loaded of packages; and who profiles."""
    _profiler[:] = [sys.getprofile()]
    for label, module in list(sys.modules.items()):
        if label.startswith(packages) and label not in _KEPT:
            held = dict(vars(module))
            keep(label, module, [name for name, value in held.items() if callable(value) or name.isupper()])
            for kind in held.values():
                if isinstance(kind, type) and issubclass(kind, Enum):
                    for member in kind:
                        keep(f"{kind.__module__}.{member}", member, ["_value_"])


def put_back() -> list[str]:
    """Return the names of what was replaced or removed, and put it back."""
    found: list[str] = []
    for label, (owner, kept) in _KEPT.items():
        for name, value in kept.items():
            if getattr(owner, name, None) is not value:
                found.append(f"{label}.{name}")
                setattr(owner, name, value)
    if _profiler and sys.getprofile() is not _profiler[0]:
        found.append("sys.setprofile")
        sys.setprofile(_profiler[0])
    for name, module in _MODULES.items():
        if sys.modules.get(name) is not module:
            found.append(f"sys.modules[{name!r}]")
            sys.modules[name] = module
    return found


# Before any file of a user's is imported. A notebook has another ``input`` in each cell.
for _module in (math, np, np.linalg, np.random):
    keep(_module.__name__, _module)
keep("builtins", builtins, [name for name in vars(builtins) if name != "input"])
