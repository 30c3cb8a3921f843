"""The corpus of torch Functions and library ops: plain files of users' code, and how one of their names is checked."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from types import ModuleType

from opkit.checker import OpReport, Options, Status, check
from opkit.project.module import load_module
from opkit.verify.isolation.announced_calls import SingleProcess
from opkit.verify.subjects.foreign.framework import loaded_frameworks

FOLDER = Path(__file__).parents[1] / "campaigns" / "data" / "torch_files"
#: The files, and whether what they hold is correct.
FILES = {"right": True, "tricky": True, "faults": False, "library": True, "library_faults": False}

#: What the rules make of faults of some kinds: hazards are open, what is refused aloud and what gets None are a line.
_BY_KIND = {
    "undecided": Status.UNDECIDED,
    "kept": Status.UNDECIDED,
    "refuses": Status.PASS,
    "constant": Status.PASS,
}


def names_in(file: str) -> list[str]:
    """Return the custom functions that a file defines, without importing it."""
    found = []
    for node in ast.parse((FOLDER / f"{file}.py").read_text(encoding="utf-8")).body:
        is_op = isinstance(node, ast.FunctionDef) and any("custom_op" in ast.dump(item) for item in node.decorator_list)
        if isinstance(node, ast.ClassDef) or is_op:
            found.append(node.name)
    return found


def loaded(file: str) -> ModuleType:
    """Return a file of the corpus as a module."""
    name = f"torch_files.{file}"  # the files import each other by their own names, which other folders of tests may have
    if name not in sys.modules:
        if str(FOLDER) not in sys.path:
            sys.path.insert(0, str(FOLDER))
        sys.modules[name] = load_module(str(FOLDER / f"{file}.py"))
    return sys.modules[name]


def checked(file: str, name: str, options: Options | None = None) -> OpReport:
    """Check one name of a file, with the cases and exceptions that the file declares."""
    names = vars(loaded(file))
    (framework,) = (item for item in loaded_frameworks() if item.knows(names[name]))
    options = options or Options()
    served = framework.named(names[name], names, name, options)
    return served if isinstance(served, OpReport) else check(SingleProcess().over(served), options)


def is_expected(file: str, name: str, report: OpReport) -> bool:
    """Say whether a verdict is the one that the rules give."""
    names = vars(loaded(file))
    if name in names.get("OPEN", ()):
        return report.status is Status.UNDECIDED
    if FILES[file]:
        return report.status is Status.PASS
    expected = _BY_KIND.get(names.get("FAULTS", {}).get(name, ""))
    return report.status is expected if expected is not None else report.status in (Status.FAIL, Status.ERROR)
