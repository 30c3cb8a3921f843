"""An op of an op directory that a script called, as something to check on what the run gave it.

Running the script is in ``script``, making checkables of op directories in ``subjects.directory``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opkit.checker import CODES, Case, Checkable, OpReport
from opkit.errors import OpkitError, UsageError
from opkit.ops import OpDef
from opkit.project.directory import op_directory_of
from opkit.project.loading import LoadedOps, assemble
from opkit.verify.isolation.blame import blame_error
from opkit.verify.isolation.shown import shown_path
from opkit.verify.subjects.directory import checkable_of, kernels_of
from opkit.verify.subjects.loaded import unloadable
from opkit.verify.subjects.neighbours import near


def called_op(
    opdef: OpDef, calls: Sequence[Mapping[str, Any]], directories: dict[str, LoadedOps]
) -> Iterator[Checkable | OpReport]:
    """Yield an op of a directory, to be checked on what the run gave it, or what is wrong with its cases."""
    loaded = _directory(opdef, directories)
    if loaded is None or opdef.name not in loaded.forward_ops:
        return
    op, folder = loaded.ops[opdef.name], shown_path(loaded.directory.path)
    try:
        made = checkable_of(loaded, op, loaded.cases())
    except UsageError as error:
        yield replace(unloadable(op.name, error), dir=folder)
    except OpkitError as error:
        finding = blame_error(error.__cause__ or error, CODES["GC183"], "loading the cases file")
        yield OpReport(op.name, (finding,), folder)
    else:
        if made is not None:
            variadic = {arg.name for arg in made.inputs if arg.is_variadic}
            made = replace(made, recorded=tuple(_case(opdef, call, variadic) for call in calls))
            yield made if made.cases is not None else near(made, kernels_of(loaded), made.default_attrs)


def _directory(opdef: OpDef, known: dict[str, LoadedOps]) -> LoadedOps | None:
    """Return the op directory whose kernel an op runs, None where it is not an op of a directory."""
    if opdef.where is None:
        return None
    folder = os.path.dirname(opdef.where.file)
    if folder not in known:
        directory = op_directory_of(folder)
        if not directory.spec.is_file():
            return None
        known[folder] = assemble(directory)
    return known[folder]


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
