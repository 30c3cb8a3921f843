"""``FILE.py::Name``, ``FILE.py::*``: one custom function of a file, or all, with the cases that the file gives.

The file is imported as a module, not run as a script; ``package.module`` in its place is imported by its name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from opkit.blind.marks import CHECKING
from opkit.checker import Checkable, OpReport
from opkit.errors import Location, unknown
from opkit.project.module import load_module
from opkit.replaced import keep_packages, put_back
from opkit.shim import install_frameworks
from opkit.verify.codes import LOAD
from opkit.verify.isolation.blame import blame_error
from opkit.verify.isolation.flight import Flight
from opkit.verify.options import NamedError, RunOptions
from opkit.verify.subjects.foreign.framework import frameworks_ready, missing
from opkit.verify.subjects.loaded import Loaded, joined, unloadable
from opkit.verify.subjects.ordinary_call import found_at
from opkit.verify.subjects.pylayer import dynamic_mode
from opkit.verify.targets.file_functions import Held, families, held, named_in, serve, serve_all, untaken
from opkit.verify.targets.target import ALL, Target


def load_named(target: Target, options: RunOptions, _flight: Flight) -> Loaded:
    """Import a file and make checkables of the custom functions that the target names."""
    keep_packages(CHECKING)
    put_back()
    try:
        with frameworks_ready():
            module = _imported(target)
    except Exception as error:
        finding = replace(blame_error(error, LOAD, "importing the file"), hint=missing(error))
        return Loaded(reports=(OpReport(target.label, (finding,)),))
    changed = put_back()
    return _loaded(target, options, module).each(partial(replace, changed=changed))


def _loaded(target: Target, options: RunOptions, module: ModuleType) -> Loaded:
    names = vars(module)
    if target.name == ALL:
        every = held(names, module.__name__, options.device)
        served = serve_all(every, names, target.file, options)
        parts = [loaded.each(placed(item, names)) for item, loaded in served]
        return joined(parts or [untaken(names, target.file)])
    found, item = named_in(names, target.name, options.device)
    if item is None:
        return Loaded(reports=(unloadable(target.label, _missing(target, module, found)),))
    return Loaded(unmade=(serve(item, names, target.label, options),)).each(placed(item, names))


def placed(item: Held, names: Mapping[str, Any]) -> Callable[[Checkable], Checkable]:
    """Return what makes the op of a function say where an ordinary process finds it."""
    family, path = item.family, str(names.get("__file__", ""))

    def put(made: Checkable) -> Checkable:
        tuples = frozenset(arg.name for arg in made.inputs if arg.is_tuple)
        parameters = replace(family.subject_of(item.value).parameters, tuples=tuples)
        return found_at(made, family.kind, path, item.name, parameters)

    return put


def _imported(target: Target) -> ModuleType:
    folder = os.getcwd() if target.module else os.path.dirname(os.path.realpath(target.path))
    sys.path.insert(0, folder)
    sys.argv = [target.path]
    install_frameworks()
    module = import_module(target.module) if target.module else load_module(target.path)
    dynamic_mode()
    return module


def _missing(target: Target, module: ModuleType, found: Any) -> NamedError:
    known = [item.name for item in held(vars(module), module.__name__)]
    kinds = " or ".join(family.kinds for family in families())
    sort = "class" if isinstance(found, type) else type(found).__name__
    tail = f": it is a {sort}" if found is not None else ""
    said = unknown(f"the file has no {kinds}", target.name, known, tail=tail, has="it has" if known else "")
    pair = "a pair of numpy functions: opkit.gradcheck(forward=f, backward=df, inputs=[x])"
    hint = pair if isinstance(found, FunctionType) else ""
    return NamedError(str(said), where=Location(target.file, 1), help=hint)
