"""``FILE.py``: the script runs once as ``__main__`` under the recorder, and what it called is checked on what it saw.

How ops are recorded is the recorder's business, how they are run that of their kind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from opkit.blind.marks import hidden
from opkit.checker import CODES, Case, Checkable, CheckResult, OpReport, Status
from opkit.diagnostics import Diagnostic
from opkit.errors import OpkitError
from opkit.ops import OpDef, observe
from opkit.ops.core.observers import observing
from opkit.project.directory import op_directory_of
from opkit.project.loading import LoadedOps, assemble
from opkit.shim import exec_script, install_frameworks
from opkit.static.py_func import PyFuncDef, label_of
from opkit.verify.codes import SCRIPT
from opkit.verify.isolation.blame import blame_error, shown_path, user_line
from opkit.verify.isolation.flight import Flight
from opkit.verify.options import RunOptions
from opkit.verify.subjects.declared import Declared, declared_in
from opkit.verify.subjects.directory import checkable_of
from opkit.verify.subjects.foreign.framework import Framework, missing, recorded_frameworks
from opkit.verify.subjects.hints import kernels_of
from opkit.verify.subjects.neighbours import near
from opkit.verify.subjects.places import location_of
from opkit.verify.subjects.pyfunc import checkable_of_py_func
from opkit.verify.subjects.pylayer import checkable_of_layer, dynamic_mode, is_layer
from opkit.verify.subjects.recorder import Heard, InputRecorder, Sort, Traits
from opkit.verify.targets.loaded import Loaded
from opkit.verify.targets.named import layer_loaded
from opkit.verify.targets.target import Target


def load_script(target: Target, options: RunOptions, _flight: Flight) -> Loaded:
    """Run a script under the recorder and make a checkable of every op that it called.

    PyLayers of the script that were never called are checked on the cases that the script declares for them.
    """
    recorder = InputRecorder()
    install_frameworks()
    names: Mapping[str, Any] = {}
    reports: list[OpReport] = []
    foreign: list[tuple[Framework, Any]] = []
    try:
        with recorded_frameworks(options.device) as foreign, observing(), observe(recorder, on_error=recorder.raised):
            path = shown_path(target.path)
            with hidden():
                names = exec_script(path)
    except SystemExit as error:
        if error.code not in (None, 0):
            reports.append(_stopped(target, error))
    except Exception as error:
        reports.append(_stopped(target, error))
    finally:
        dynamic_mode()
    names = names or vars(sys.modules["__main__"])
    found = _Gathered(target, names, options)
    for heard in recorder.heard.values():
        if heard.calls:
            found.add(heard)
    found.add_uncalled({heard.key: heard for heard in recorder.heard.values() if heard.sort is Sort.LAYER})
    for framework, calls in foreign:
        served = framework.gathered(calls, names, target.label, options.check)
        found.checkables += served.checkables
        found.reports += served.reports
    return Loaded(tuple(found.checkables), (*reports, *found.reports), tuple(found.diagnostics))


def _stopped(target: Target, error: BaseException) -> OpReport:
    return OpReport(target.label, (replace(blame_error(error, SCRIPT, "the script"), hint=missing(error)),))


class _Gathered:
    """Collects checkables of what was heard."""

    def __init__(self, target: Target, names: Mapping[str, Any], options: RunOptions) -> None:
        self.checkables: list[Checkable] = []
        self.reports: list[OpReport] = []
        self.diagnostics: list[Diagnostic] = []
        self._target = target
        self._names = names
        self._options = options
        self._directories: dict[str, LoadedOps] = {}

    def add(self, heard: Heard) -> None:
        """Make checkables of one op."""
        if heard.sort is Sort.LAYER:
            self._add_layer(heard)
        elif heard.sort is Sort.PY_FUNC:
            self._add_py_func(heard)
        else:
            self._add_op(heard)

    def _add_py_func(self, heard: Heard) -> None:
        opdef: PyFuncDef = heard.key
        name = label_of(opdef.function)
        label = self._unique(f"{self._target.label}::{name}")
        if opdef.backward_func is None or not opdef.outputs:
            text = "this py_func has no backward_func; there is no gradient to check"
            skip = CheckResult("domain", Status.SKIP, "GC182", text, where=location_of(opdef.function))
            self.reports.append(OpReport(label, (skip,), notes=(text,)))
            return
        declared = declared_in(self._names, ["forward", name], name)
        recorded = [call["inputs"] for calls in heard.calls.values() for call in calls]
        needed = frozenset(index for item in heard.opdefs for index in item.asked)
        declared = _own(declared, self._names, name)
        self.checkables.append(checkable_of_py_func(opdef, recorded, needed, label, declared, heard.opdefs))

    def _unique(self, label: str) -> str:
        """Return a label that no op of this run has yet."""
        taken = {item.name for item in self.checkables} | {item.op for item in self.reports}
        number = 1
        while (numbered := label if number == 1 else f"{label}#{number}") in taken:
            number += 1
        return numbered

    def _add_layer(self, heard: Heard) -> None:
        """Add a PyLayer: one checkable per set of inputs that took no gradient."""
        label = f"{self._target.label}::{heard.key.__qualname__}"
        name = heard.key.__name__
        declared = _own(declared_in(self._names, ["forward", name], name), self._names, name)
        groups = sorted(_by_traits(heard).items(), key=lambda group: (group[0].is_idle, len(group[0].constants)))
        for number, (traits, calls) in enumerate(groups):
            # The cases say what takes a gradient where the run says least of constants.
            cases = declared.cases if number == 0 else None
            self.checkables.append(
                checkable_of_layer(
                    heard.key,
                    cases,
                    recorded=calls,
                    traits=replace(traits, is_idle=False) if cases is not None else traits,
                    declared=declared,
                    name=self._unique(label),
                    is_twice=heard.is_twice,
                )
            )

    def add_uncalled(self, called: Mapping[Any, Heard]) -> None:
        """Make checkables of the script's own PyLayers of which no call returned, where it has cases for them."""
        for name, value in self._names.items():
            if not is_layer(value) or value.__module__ != "__main__" or value.__name__ != name:
                continue
            heard = called.get(value)
            if heard is not None and heard.calls:
                continue
            label = f"{self._target.label}::{name}"
            is_own = f"cases_{name}" in self._names
            if not is_own and "cases" not in self._names:
                self.reports.append(_without_call(label, name, heard))
                continue
            loaded = layer_loaded(value, self._names, label, self._options)
            self.checkables += loaded.checkables
            # Cases without a name may be meant for another PyLayer of the script.
            self.reports += loaded.reports if is_own or loaded.checkables else [_without_call(label, name, heard)]

    def _add_op(self, heard: Heard) -> None:
        opdef: OpDef = heard.key
        loaded = self._directory(opdef)
        if loaded is None or opdef.name not in loaded.forward_ops:
            return
        op = loaded.ops[opdef.name]
        try:
            made = checkable_of(loaded, op, loaded.cases())
        except OpkitError as error:
            finding = blame_error(error.__cause__ or error, CODES["GC183"], "loading the cases file")
            self.reports.append(OpReport(op.name, (finding,), shown_path(loaded.directory.path)))
            return
        if made is not None:
            variadic = {arg.name for arg in made.inputs if arg.is_variadic}
            cases = tuple(_case(opdef, call, variadic) for calls in heard.calls.values() for call in calls)
            made = replace(made, recorded=cases)
            self.checkables.append(
                made if made.cases is not None else near(made, kernels_of(loaded), made.default_attrs)
            )

    def _directory(self, opdef: OpDef) -> LoadedOps | None:
        """Return the op directory whose kernel an op runs, None where it is not an op of a directory."""
        if opdef.where is None:
            return None
        folder = os.path.dirname(opdef.where.file)
        if folder not in self._directories:
            directory = op_directory_of(folder)
            if not directory.spec.is_file():
                return None
            self._directories[folder] = assemble(directory)
        return self._directories[folder]


def _by_traits(heard: Heard) -> dict[Traits, list[dict[str, Any]]]:
    """Return the calls of a PyLayer by the inputs that took no gradient; those of evaluation alone only where all are.

    An input counts as a leaf where it was one in every call.
    """
    groups: dict[tuple[frozenset[str], frozenset[str]], list[Any]] = {}
    is_used = any(not traits.is_idle for traits in heard.traits.values())
    for signature, traits in heard.traits.items():
        if not (is_used and traits.is_idle):
            groups.setdefault((traits.constants, traits.options), []).append(signature)
    found: dict[Traits, list[dict[str, Any]]] = {}
    for (constants, options), signatures in groups.items():
        every = [heard.traits[signature] for signature in signatures]
        leaves = frozenset.intersection(*(traits.leaves for traits in every))
        merged = Traits(constants, leaves, options, every[0].is_idle)
        found[merged] = [call for signature in signatures for call in heard.calls[signature]]
    return found


def _own(declared: Declared, names: Mapping[str, Any], name: str) -> Declared:
    """Return what a script declares of an op that it called; cases without a name may be meant for another one."""
    return declared if f"cases_{name}" in names or _is_only(names) else replace(declared, cases=None)


def _is_only(names: Mapping[str, Any]) -> bool:
    return len([value for value in names.values() if is_layer(value) and value.__module__ == "__main__"]) == 1


def _without_call(label: str, name: str, heard: Heard | None) -> OpReport:
    """Return the report of a PyLayer of which no call returned: there was none, or forward raised in each."""
    advice = f"define cases_{name}(rng)"
    if heard is None:
        text = f"{name} was never called in this run; call it, or {advice}"
        return OpReport(label, (CheckResult("domain", Status.SKIP, "GC182", text),), notes=(text,))
    error = heard.failures[0]
    where = user_line(error.__traceback__)
    count = len(heard.failures)
    calls = "its only call" if count == 1 else f"each of its {count} calls"
    place = f" at {where}" if where is not None else ""
    text = (
        f"forward of {name} raised {type(error).__name__} in {calls} in this run{place}: {error}; mend it, or {advice}"
    )
    return OpReport(label, (CheckResult("domain", Status.SKIP, "GC182", text, where=where),), notes=(text,))


def _case(opdef: OpDef, call: Mapping[str, Any], variadic: set[str]) -> Case:
    """Return a recorded call of an op directory's op as a case: flat inputs back by name."""
    inputs: dict[str, Any] = {}
    for arg, value in zip(opdef.inputs, call["inputs"]):
        name = arg.name.rpartition("_")[0]
        if name in variadic:
            inputs.setdefault(name, []).append(value)
        else:
            inputs[name] = value
    return Case(inputs, call["attrs"], "recorded", origin="recorded", label="seen in the run")
