"""``FILE.py``, a script that runs under the recorder, and ``FILE.py::Name`` or ``FILE.py::*``, functions of a file.

A script runs once as ``__main__``, and what it called is checked on what it saw. For functions the file is imported as
a module, ``package.module`` in its place by its name, and they are checked with the cases that it gives. How ops are
recorded is the recorder's business, how they are run that of their kind.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

from opkit.blind.marks import CHECKING, hidden
from opkit.checker import Checkable, OpReport
from opkit.errors import Location, UsageError, unknown
from opkit.ops import observe
from opkit.ops.core.observers import observing
from opkit.project.module import load_module
from opkit.replaced import keep_packages, put_back
from opkit.shim import exec_script, install_frameworks
from opkit.static.py_func import PyFuncDef, label_of
from opkit.verify.codes import LOAD, SCRIPT
from opkit.verify.isolation.blame import blame_error, user_line
from opkit.verify.isolation.flight import Flight
from opkit.verify.isolation.shown import shown_path
from opkit.verify.options import NamedError, RunOptions
from opkit.verify.subjects.declared import declared_in
from opkit.verify.subjects.foreign.framework import FRAMEWORKS, frameworks_ready, missing, recorded_frameworks
from opkit.verify.subjects.foreign.serving import Framework, name_of
from opkit.verify.subjects.loaded import (
    Found,
    Loaded,
    Unmade,
    changed,
    numbered,
    reported_as,
    skipped,
    unloadable,
)
from opkit.verify.subjects.ordinary_call import found_at
from opkit.verify.subjects.parameters import names_taken, results_of
from opkit.verify.subjects.pyfunc import checkable_of_py_func, reads_around
from opkit.verify.subjects.pylayer import dynamic_mode, layers
from opkit.verify.subjects.recorder import InputRecorder, Sort
from opkit.verify.subjects.recording import Recording
from opkit.verify.subjects.source_location import location_of
from opkit.verify.targets.file_functions import Held, families, held, named_in, serve, serve_all, with_untaken
from opkit.verify.targets.imports import is_check, is_quiet, is_relative
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
        return Loaded((OpReport(target.label, (finding,)),))
    changed = put_back()
    return _loaded(target, options, module).each(partial(replace, changed=changed))


def _loaded(target: Target, options: RunOptions, module: ModuleType) -> Loaded:
    names = vars(module)
    if target.name == ALL:
        served = serve_all(held(names, module.__name__, options.device), names, target.file, options)
        every = numbered(changed(one, placed(item, names)) for item, one in served)
        return Loaded(with_untaken(every, names, target.file, options.device))
    found, item = named_in(names, target.name, options.device)
    if item is None:
        return Loaded((unloadable(target.label, _missing(target, module, found)),))
    return Loaded((serve(item, names, target.label, options),)).each(placed(item, names))


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
    kinds = [family.kinds for family in families()]
    sort = "class" if isinstance(found, type) else type(found).__name__
    tail = f": it is a {sort}" if found is not None else ""
    what = f"the file has no {' or '.join(kinds)}"
    said = unknown(what, target.name, known, tail=tail, has="it has" if known else "")
    others = f"functions of {' and '.join(FRAMEWORKS)} are found in a file that imports these"
    hint = "" if known or kinds[1:] else others
    if isinstance(found, FunctionType):
        hint = "a pair of numpy functions: opkit.gradcheck(forward=f, backward=df, inputs=[x])"
    return NamedError(str(said), where=Location(target.file, 1), help=hint)


def load_script(target: Target, options: RunOptions, flight: Flight) -> Loaded:
    """Run a script under the recorder and make a checkable of every op that it called on what it saw.

    Its other custom functions are checked as ``FILE.py::Name`` would. A file that cannot be run is imported. A target
    that names one of the script's py_funcs gets this one alone.
    """
    if target.name == ALL or is_relative(target.path):
        return load_named(replace(target, name=ALL), options, flight)
    wanted, target = target, replace(target, name="")
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
    called = [(layers, recorder.layers), *foreign]
    # Another process may import what does no work of its own: a run that called something is not to be repeated.
    is_idle = not recorder.opdefs and not any(kept for _, heard in called for kept in heard.calls.values())
    is_importable = is_check(target.path) or (is_idle and is_quiet(target.path))
    found = numbered([*_gathered(target, names, options, recorder, called, is_importable), *stopped])
    if wanted.name:
        made = (item for item in found if not isinstance(item, Unmade))
        its = (item for item in made if reported_as(item).partition("#")[0] in (wanted.label, target.label))
        said = f"the script gives {wanted.name} to a py_func, but not where it ran"
        found = tuple(its) or (unloadable(wanted.label, NamedError(said)),)
    found = found if wanted.name else with_untaken(found, names, target.label, options.device)
    return Loaded(found, is_repeatable=is_importable)


def _gathered(
    target: Target,
    names: Mapping[str, Any],
    options: RunOptions,
    recorder: InputRecorder,
    called: Sequence[tuple[Framework, Recording]],
    is_importable: bool,
) -> Iterator[Found]:
    every = held(names, "__main__", options.device)
    known = {id(item.value): item.name for item in every}

    def label(value: Any) -> str:
        name = known.get(id(value)) or getattr(value, "__qualname__", "") or name_of(value)
        return f"{target.label}::{name}"

    is_single = len(every) == 1
    for framework, heard in called:
        yield from framework.gathered(heard, names, label, options.check, is_single)
    directories: dict[str, Any] = {}
    for (sort, which), opdefs in recorder.opdefs.items():
        calls = [call for kept in recorder.others.calls[sort, which].values() for call in kept]
        if sort is Sort.OP:
            from opkit.verify.targets.called_op import called_op  # the compiler of definitions, which others do without

            yield from called_op(opdefs[0], calls, directories)
        else:
            yield _py_func(opdefs, [call["inputs"] for call in calls], sort is Sort.PART, target, names, is_single)
    done = {id(value) for _, heard in called for value, kept in heard.calls.items() if kept}
    others = [item for item in every if id(item.value) not in done]
    for item, found in serve_all(others, names, target.label, options):
        op = changed(found, placed(item, names)) if is_importable else found
        refused = recorder.layers.failures.get(item.value, ())
        if refused and isinstance(op, Unmade):
            told = _raised(label(item.value), item.value, refused)
            op = op.then(partial(lambda told, made: told if isinstance(made, OpReport) else made, told))
        yield op


def _stopped(target: Target, error: BaseException) -> OpReport:
    return OpReport(target.label, (replace(blame_error(error, SCRIPT, "the script"), hint=missing(error)),))


def _py_func(
    opdefs: Sequence[PyFuncDef],
    recorded: Sequence[Any],
    is_part: bool,
    target: Target,
    names: Mapping[str, Any],
    is_single: bool,
) -> Checkable | OpReport:
    """Make a checkable of the functions of py_funcs, or of a part of a graph, on what the run gave them."""
    opdef, name = opdefs[0], label_of(opdefs[0].function)
    label, text = f"{target.label}::{name}", ""
    if opdef.backward_func is None or not opdef.outputs:
        text = "this py_func has no backward_func; there is no gradient to check"
    elif is_part and reads_around(opdef, recorded[0]):
        text = "this static_pylayer uses Variables of the program around it, so that it cannot be checked alone"
    if text:
        return skipped(label, text, location_of(opdef.function))
    try:
        takes = names_taken(opdef.function, len(opdef.inputs))
        declared = declared_in(names, ["forward", name], name, takes, results_of("out", takes))
        if f"cases_{name}" not in names and not is_single:  # cases without a name may be meant for another one
            declared = replace(declared, cases=None)
        return checkable_of_py_func(opdefs, recorded, label, declared)
    except UsageError as error:
        return unloadable(label, error)


def _raised(label: str, layer: Any, failures: Sequence[Exception]) -> OpReport:
    """Return the report of a PyLayer whose forward raised in each call of the run, and on all that was tried."""
    error, count, name = failures[0], len(failures), layer.__name__
    where = user_line(error)
    calls = "its only call" if count == 1 else f"each of its {count} calls"
    place = f" at {where}" if where is not None else ""
    text = f"forward of {name} raised {type(error).__name__} in {calls} in this run{place}: {error}"
    text += f"; mend it, or define cases_{name}(rng)"
    return skipped(label, text, where)
