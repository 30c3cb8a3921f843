"""Trying an API file: loaded, its functions called with stubs, and what holds for every call handed out as facts.

This runs a user's code in this process; ``child`` sees to it that it is one that may hang or die.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
from collections.abc import Callable, Iterator
from types import ModuleType

from opkit import static
from opkit.oneflow.session import session
from opkit.ops import BUILTIN
from opkit.ops.core.types import Function
from opkit.project.api_fact import ApiFact
from opkit.project.api_remark import Remark
from opkit.project.directory import OpDirectory
from opkit.project.findings import fatal
from opkit.project.module import load_module
from opkit.shim import frameworks
from opkit.spec import compile_spec
from opkit.verify.trial.calls import FunctionTrial, line_of
from opkit.verify.trial.reading import read_functions
from opkit.verify.trial.recorder import BuilderRecorder, Desk, TrialStop, Unclear
from opkit.verify.trial.stubs import Uses


def try_api_file(directory: OpDirectory, begin: Callable[[str, int], None]) -> Iterator[ApiFact]:
    """Call the functions of an API file with stubs; give what is wrong with them.

    Args:
        directory: whose API file it is; it exists.
        begin: called with the name and line of what of the file runs next, "" for its top level; not before.
    """
    file = os.path.abspath(directory.api)
    text = directory.api.read_bytes().decode("utf-8-sig", errors="replace")
    try:
        readings = read_functions(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return
    result = compile_spec(directory.spec, include_dirs=(directory.path,), known_ops=tuple(BUILTIN))
    ops = {name: op for name, op in result.ops.items() if not op.has_errors}
    skipped = {item.subject for item in result.diagnostics if item.is_error} - set(ops)
    if fatal(result.diagnostics):
        return
    desk = Desk(BuilderRecorder(file, ops, skipped, static.JobTracer("import", session().scope)))
    with frameworks(), desk.installed():
        begin("", 1)
        try:
            module = load_module(directory.api)
        except (TrialStop, Unclear):
            return
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            message = f"the API file does not load: {type(error).__name__}: {error}"
            yield ApiFact(Remark("PROJ016", message), line_of(error, file))
            return
        called = {name for reading in readings.values() for name in reading.calls}
        for name, function in _functions(module, file):
            reading = readings.get(getattr(inspect.unwrap(function), "__name__", name))
            begin(name, reading.line if reading is not None else 1)
            uses = Uses(reading, ops)
            yield from FunctionTrial(name, function, uses, file, skipped, desk, is_helper=name in called).facts()


def _functions(module: ModuleType, file: str) -> Iterator[tuple[str, Function]]:
    """Give the public functions that the file itself defines, each once."""
    seen: set[int] = set()
    for name, value in list(vars(module).items()):
        if name.startswith("_") or id(value) in seen:
            continue
        seen.add(id(value))
        function = value.func if isinstance(value, functools.partial) else value
        code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
        is_deferred = inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function)
        if code is not None and code.co_filename == file and not hasattr(value, "job") and not is_deferred:
            yield name, value
