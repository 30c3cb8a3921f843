"""``FILE.py::Name``: a PyLayer of a file, with the cases that the file gives for it.

The file is imported as a module, not run as a script.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from opkit.blind.call import Kind
from opkit.checker import OpReport, Status
from opkit.checker.model.report import CheckResult
from opkit.errors import Location, OpkitError, unknown
from opkit.project.module import load_module
from opkit.shim import install_frameworks
from opkit.verify.codes import LOAD
from opkit.verify.isolation.blame import blame_error
from opkit.verify.isolation.flight import Flight
from opkit.verify.options import RunOptions
from opkit.verify.subjects.declared import Declared, declared_in
from opkit.verify.subjects.foreign.framework import Framework, loaded_frameworks, missing
from opkit.verify.subjects.foreign.serving import unserved
from opkit.verify.subjects.ordinary import found_at
from opkit.verify.subjects.parameters import Parameters, parameters_of
from opkit.verify.subjects.places import location_of
from opkit.verify.subjects.pylayer import checkable_of_layer, dynamic_mode, is_layer
from opkit.verify.subjects.searched import NothingTakenError, searched_layer
from opkit.verify.targets.loaded import Loaded
from opkit.verify.targets.target import Target


def load_named(target: Target, options: RunOptions, _flight: Flight) -> Loaded:
    """Import a file and make a checkable of the PyLayer that the target names."""
    try:
        module = _imported(target.path)
    except Exception as error:
        return Loaded(reports=(OpReport(target.label, (_not_imported(error),)),))
    found: Any = module
    for part in target.name.split("."):
        found = getattr(found, part, None)
    for framework in loaded_frameworks(options.device):
        if framework.knows(found):
            return _foreign(framework, found, module, target, options)
    if not is_layer(found):
        return Loaded(reports=(OpReport(target.label, (_missing(target, module, found),)),))
    return _found(layer_loaded(found, vars(module), target.label, options), Kind.LAYER, target, parameters_of(found))


def _found(loaded: Loaded, kind: Kind, target: Target, parameters: Parameters) -> Loaded:
    made = [found_at(item, kind, target.path, target.name, parameters) for item in loaded.checkables]
    return replace(loaded, checkables=tuple(made))


def _not_imported(error: Exception) -> CheckResult:
    return replace(blame_error(error, LOAD, "importing the file"), hint=missing(error))


def _foreign(framework: Framework, found: Any, module: ModuleType, target: Target, options: RunOptions) -> Loaded:
    """Load a custom function of another framework, which the file has imported."""
    try:
        served = framework.named(found, vars(module), target.label, options.check)
        parameters = framework.subject_of(found).parameters
    except OpkitError as error:
        return Loaded(reports=(unserved(target.label, error),))
    return _found(Loaded(served.checkables, served.reports), framework.kind, target, parameters)


def _imported(path: str) -> ModuleType:
    sys.path.insert(0, os.path.dirname(os.path.realpath(path)))
    sys.argv = [path]
    install_frameworks()
    module = load_module(path)
    dynamic_mode()
    return module


def _missing(target: Target, module: ModuleType, found: Any) -> CheckResult:
    foreign = list(loaded_frameworks())
    layers = [
        name
        for name, value in vars(module).items()
        if is_layer(value) or any(framework.knows(value) for framework in foreign)
    ]
    kinds = " or ".join(["PyLayer", *(framework.kinds for framework in foreign)])
    tail = f": it is a {type(found).__name__}" if found is not None else ""
    said = unknown(f"the file has no {kinds}", target.name, layers, tail=tail, has="it has")
    return CheckResult(
        LOAD.name, Status.ERROR, LOAD.code, str(said), where=Location(target.label.partition("::")[0], 1)
    )


def layer_loaded(layer: type, names: Mapping[str, Any], label: str, options: RunOptions) -> Loaded:
    """Make a checkable of a PyLayer with the cases that its file declares, or that the options give shapes for.

    Args:
        layer: the class.
        names: the names of its file.
        label: what the report calls it.
        options: ``check.shapes`` stands in for cases.
    """
    try:
        declared = declared_in(names, ["forward", layer.__name__], layer.__name__)
        cases = _cases(layer, declared, options)
        if cases is None:
            return Loaded((searched_layer(layer, declared, label, options.check),))
        return Loaded((checkable_of_layer(layer, cases, declared=declared, name=label),))
    except NothingTakenError as error:
        return Loaded(reports=(OpReport(label, (_no_cases(layer, error),)),))
    except OpkitError as error:
        result = CheckResult("cases", Status.ERROR, "GC183", error.message, where=error.where)
        return Loaded(reports=(OpReport(label, (result,)),))


def layer_given(
    layer: type,
    inputs: Sequence[Any] | None,
    cases: Callable[[np.random.Generator], Iterable[Any]] | None,
    options: RunOptions,
) -> Loaded:
    """Make a checkable of a PyLayer of this process; what its module declares under the class's name holds.

    Args:
        layer: the class.
        inputs: cases that count as what a run saw.
        cases: in place of inputs; with neither, the module's own cases, else a search.
        options: of the run.

    Raises:
        UsageError: the cases do not fit forward's parameters.
    """
    names = vars(sys.modules[layer.__module__]) if layer.__module__ in sys.modules else {}
    names = {key: value for key, value in names.items() if key.endswith(f"_{layer.__name__}") or key == "__file__"}
    name = layer.__qualname__.replace("<locals>.", "")
    if inputs is None and cases is None:
        return layer_loaded(layer, names, name, options)
    declared = declared_in(names, ["forward", layer.__name__], layer.__name__)
    return Loaded((checkable_of_layer(layer, cases, given=inputs or (), declared=declared, name=name),))


def _no_cases(layer: type, error: NothingTakenError) -> CheckResult:
    names = parameters_of(layer).names
    return CheckResult(
        "domain",
        Status.ERROR,
        "GC182",
        f"there are no cases for {layer.__name__}, and {error.message}; define cases_{layer.__name__}(rng) in the "
        f"file, which yields dicts of {', '.join(names)}; or give --shape NAME=3,4; or check a script that calls it",
        where=location_of(layer.forward),  # type: ignore[attr-defined]
    )


def _cases(
    layer: type, declared: Declared, options: RunOptions
) -> Callable[[np.random.Generator], Iterable[Any]] | None:
    """Return the cases of a PyLayer: the file's, those of the shapes given, None where they are to be searched."""
    if declared.cases is not None:
        return declared.cases
    if options.check.shapes:
        shapes = dict(options.check.shapes)
        return lambda rng: [{name: rng.standard_normal(shape) for name, shape in shapes.items()} for _ in range(3)]
    return None
