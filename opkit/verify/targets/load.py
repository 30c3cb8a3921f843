"""Loading a target in its worker: which module does it for which kind.

Modules are imported by kind, so that a run over op directories does not pay for what scripts need.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from opkit.ops import BUILTIN
from opkit.verify.isolation.flight import Flight
from opkit.verify.options import RunOptions
from opkit.verify.subjects.foreign.framework import FRAMEWORKS
from opkit.verify.subjects.loaded import Loaded
from opkit.verify.targets.imports import gives_py_func, imported_roots
from opkit.verify.targets.target import Target, TargetKind

_HOMES = {
    TargetKind.DIRECTORY: ("opkit.verify.targets.directory", "load_directory"),
    TargetKind.NAMED: ("opkit.verify.targets.script", "load_named"),
    TargetKind.SCRIPT: ("opkit.verify.targets.script", "load_script"),
}

#: Packages that start threads of their own, after which a process must not be forked.
_THREADED = frozenset({"jax", "tensorflow", "torch"})

#: What each process would import anew at its first gradient; it brings sympy.
_LATER = {"torch": "torch.fx.experimental.symbolic_shapes"}


def wants_fresh(target: Target) -> bool:
    """Return whether a target is to be loaded and checked in a fresh interpreter, shared with others like it."""
    return target.kind is TargetKind.NAMED and bool(imported_roots(target.path) & _THREADED)


def frameworks_of(path: str) -> frozenset[str]:
    """Return the frameworks that a file imports and that its functions may be of, and what these import later."""
    found = imported_roots(path) & frozenset(FRAMEWORKS)
    return found | {_LATER[name] for name in found if name in _LATER}


def preload(kinds: Iterable[TargetKind]) -> None:
    """Import what loading needs, once, before workers are forked.

    Args:
        kinds: of the targets, one for each. What the trials of API files import, and all built-in ops, are shared
            where there are several.
    """
    wanted = list(kinds)
    for kind in set(wanted):
        _loader(kind)
    if wanted.count(TargetKind.DIRECTORY) > 1:
        import_module("opkit.verify.trial.calls")
        BUILTIN.load()


def load(target: Target, options: RunOptions, flight: Flight) -> Loaded:
    """Load a target in this process; what its files do wrong is in the result."""
    is_run = target.kind is TargetKind.NAMED and gives_py_func(target.path, target.name)
    loaded: Loaded = _loader(TargetKind.SCRIPT if is_run else target.kind)(target, options, flight)
    return loaded.on(options.device) if options.command == "gradcheck" else loaded


def _loader(kind: TargetKind) -> Any:
    module, name = _HOMES[kind]
    return getattr(import_module(module), name)
