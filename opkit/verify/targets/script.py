"""``FILE.py``: the script runs once as ``__main__`` under the recorder, and what it called is checked on what it saw.

How ops are recorded is the recorder's business, how they are run that of their kind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from opkit.verify.isolation.blame import blame_error, user_line
from opkit.verify.isolation.flight import Flight
from opkit.verify.isolation.shown import shown_path
from opkit.verify.options import RunOptions
from opkit.verify.subjects.declared import Declared, declared_in
from opkit.verify.subjects.directory import checkable_of
from opkit.verify.subjects.foreign.framework import missing, recorded_frameworks
from opkit.verify.subjects.foreign.recording import Recording
from opkit.verify.subjects.foreign.serving import Framework, name_of
from opkit.verify.subjects.graph_part import reads_around
from opkit.verify.subjects.hints import kernels_of
from opkit.verify.subjects.neighbours import near
from opkit.verify.subjects.pyfunc import checkable_of_py_func
from opkit.verify.subjects.pylayer import checkable_of_layer, dynamic_mode
from opkit.verify.subjects.recorder import Heard, InputRecorder, Sort, Traits
from opkit.verify.subjects.source_location import location_of
from opkit.verify.targets.file_functions import held, serve_all
from opkit.verify.targets.imports import is_relative
from opkit.verify.targets.loaded import Loaded, joined
from opkit.verify.targets.named import load_named
from opkit.verify.targets.target import ALL, Target


def load_script(target: Target, options: RunOptions, flight: Flight) -> Loaded:
    """Run a script under the recorder and make a checkable of every op that it called on what it saw.

    Its other custom functions are checked as ``FILE.py::Name`` would. A file that cannot be run is imported.
    """
    if target.name or is_relative(target.path):
        return load_named(replace(target, name=ALL), options, flight)
    recorder = InputRecorder()
    install_frameworks()
    names: Mapping[str, Any] = {}
    stopped: list[OpReport] = []
    foreign: list[tuple[Framework, Recording]] = []
    try:
        with recorded_frameworks(options.device) as foreign, observing(), observe(recorder, on_error=recorder.raised):
            path = shown_path(target.path)
            with hidden():
                names = exec_script(path)
    except SystemExit as error:
        if error.code not in (None, 0):
            stopped.append(_stopped(target, error))
    except Exception as error:
        stopped.append(_stopped(target, error))
    finally:
        dynamic_mode()
    names = names or vars(sys.modules["__main__"])
    parts = list(_gathered(target, names, options, recorder, foreign))
    return joined([*parts, Loaded(reports=tuple(stopped))])


def _gathered(
    target: Target,
    names: Mapping[str, Any],
    options: RunOptions,
    recorder: InputRecorder,
    foreign: Sequence[tuple[Framework, Recording]],
) -> Iterator[Loaded]:
    every = held(names, "__main__", options.device)
    known = {id(item.value): item.name for item in every}

    def label(value: Any) -> str:
        name = known.get(id(value)) or getattr(value, "__qualname__", "") or name_of(value)
        return f"{target.label}::{name}"

    found = _Gathered(target, names, label, len(every) == 1)
    for heard in recorder.heard.values():
        if heard.calls:
            found.add(heard)
    yield Loaded(tuple(found.checkables), tuple(found.reports), tuple(found.diagnostics))
    for framework, calls in foreign:
        for served in framework.gathered(calls, names, label, options.check):
            yield Loaded(served.checkables, served.reports)
    called = {id(heard.key) for heard in recorder.heard.values() if heard.calls}
    called |= {id(value) for _, calls in foreign for value in calls.calls if calls.calls[value]}
    raised = {id(heard.key): heard for heard in recorder.heard.values() if not heard.calls}
    others = [item for item in every if id(item.value) not in called]
    for item, loaded in serve_all(others, names, target.label, options):
        refused = raised.get(id(item.value))
        is_taken = refused is None or bool(loaded.checkables)
        yield loaded if is_taken or refused is None else Loaded(reports=(_raised(label(item.value), refused),))


def _stopped(target: Target, error: BaseException) -> OpReport:
    return OpReport(target.label, (replace(blame_error(error, SCRIPT, "the script"), hint=missing(error)),))


class _Gathered:
    """Collects checkables of what was heard of opkit's own kinds of ops."""

    def __init__(self, target: Target, names: Mapping[str, Any], label: Callable[[Any], str], is_single: bool) -> None:
        self.checkables: list[Checkable] = []
        self.reports: list[OpReport] = []
        self.diagnostics: list[Diagnostic] = []
        self._target, self._names, self._label, self._is_single = target, names, label, is_single
        self._directories: dict[str, LoadedOps] = {}

    def add(self, heard: Heard) -> None:
        """Make checkables of one op."""
        if heard.sort is Sort.LAYER:
            self._add_layer(heard)
        elif heard.sort in (Sort.PY_FUNC, Sort.PART):
            self._add_py_func(heard)
        else:
            self._add_op(heard)

    def _add_py_func(self, heard: Heard) -> None:
        opdef: PyFuncDef = heard.key
        name = label_of(opdef.function)
        label = f"{self._target.label}::{name}"
        recorded = [call["inputs"] for calls in heard.calls.values() for call in calls]
        text = ""
        if opdef.backward_func is None or not opdef.outputs:
            text = "this py_func has no backward_func; there is no gradient to check"
        elif heard.sort is Sort.PART and reads_around(opdef, recorded[0]):
            text = "this static_pylayer uses Variables of the program around it, so that it cannot be checked alone"
        if text:
            skip = CheckResult("domain", Status.SKIP, "GC182", text, where=location_of(opdef.function))
            self.reports.append(OpReport(label, (skip,), notes=(text,)))
            return
        declared = declared_in(self._names, ["forward", name], name)
        needed = frozenset(index for item in heard.opdefs for index in item.asked)
        declared = self._own(declared, name)
        self.checkables.append(checkable_of_py_func(opdef, recorded, needed, label, declared, heard.opdefs))

    def _own(self, declared: Declared, name: str) -> Declared:
        """Return what the script declares of an op; cases without a name may be meant for another one."""
        is_own = f"cases_{name}" in self._names or self._is_single
        return declared if is_own else replace(declared, cases=None)

    def _add_layer(self, heard: Heard) -> None:
        """Add a PyLayer: one checkable per set of inputs that took no gradient."""
        label, name = self._label(heard.key), heard.key.__name__
        declared = self._own(declared_in(self._names, ["forward", name], name), name)
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
                    name=label,
                    is_twice=heard.is_twice,
                )
            )

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


def _raised(label: str, heard: Heard) -> OpReport:
    """Return the report of a PyLayer whose forward raised in each call of the run, and on all that was tried."""
    error = heard.failures[0]
    where = user_line(error.__traceback__)
    count, name = len(heard.failures), heard.key.__name__
    calls = "its only call" if count == 1 else f"each of its {count} calls"
    place = f" at {where}" if where is not None else ""
    text = f"forward of {name} raised {type(error).__name__} in {calls} in this run{place}: {error}"
    text += f"; mend it, or define cases_{name}(rng)"
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
