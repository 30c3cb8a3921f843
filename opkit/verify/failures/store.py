"""FailureStore: the inputs of former failures, kept in the user's cache folder, never in an op's.

What to do with them (replay, a script that shows one) is decided elsewhere. Beside each is a digest of what the op's
files say of the inputs that it is meant for: of the text of cases functions, of which nothing is imported or run.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from opkit.atomic import write_file
from opkit.checker import Case, Checkable, CheckResult, OpReport
from opkit.checker.model.case import FORMER, plain
from opkit.checker.model.evaluate import leaves_of
from opkit.errors import UsageError
from opkit.foreign import read_array, read_entries, read_file
from opkit.project.directory import op_directory_of
from opkit.record import record

#: Names that declare exceptions, with or without a suffix; they say nothing of inputs.
_EXCEPTIONS = ("SURROGATE", "TOLERANCE", "ALLOW", "NONDIFFERENTIABLE_OUTPUTS", "INPLACE", "SECOND_ORDER")


def domain_of(directory: str | None, op: str) -> str:
    """Return a digest of the cases that an op has by now, "" where it has none and its domain is searched.

    Layout and comments do not count. Of a directory the whole cases file does, but for the exceptions that it declares;
    of ``FILE.py::Name`` the function ``cases_Name`` or ``cases`` alone, since the file holds the kernels too.

    Args:
        directory: the op directory, None for an op of a Python file.
        op: as reports name it.
    """
    try:
        if directory is not None:
            parts = list(_statements(op_directory_of(Path(directory)).cases))
        else:
            file, _, name = op.rpartition("::")
            parts = _named(Path(file), ("cases_" + name.rpartition(".")[2], "cases")) if file else []
    except (OSError, ValueError, SyntaxError, RecursionError):  # the op itself will be found faulty
        parts = []
    text = "\n".join(ast.dump(part) for part in parts)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16] if text else ""


def _statements(file: Path) -> Iterator[ast.stmt]:
    if file.is_file():
        for part in ast.parse(file.read_bytes()).body:
            if not any(name.startswith(_EXCEPTIONS) for name in _binds(part)):
                yield part


def _named(file: Path, names: tuple[str, ...]) -> list[ast.stmt]:
    found = {name: part for part in ast.parse(file.read_bytes()).body for name in _binds(part)}
    return [found[name] for name in names if name in found][:1]


def _binds(part: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    if isinstance(part, (ast.FunctionDef, ast.ClassDef)):
        return [part.name]
    targets = [part.target] if isinstance(part, ast.AnnAssign) else getattr(part, "targets", [])
    return [item.id for item in targets if isinstance(item, ast.Name)]


#: The key of a failure within an op: code, input, output.
Key = tuple[str, str, str]
_FORMAT = 1
_MOST_PER_OP = 12
#: Inputs larger than this are not kept.
_MOST_BYTES = 64 << 20
#: What else a file may hold, in bytes, and what it says of a failure at least.
_MOST_FACTS = 64 << 20
_FACTS = {"op", "dir", "root", "result", "is_replayable", "pattern", "element", "output_element"}


def former(result: CheckResult) -> Key:
    """Return what identifies a finding from one run to the next."""
    return (result.code, result.input or "", result.output or "")


def op_key(directory: str | None, op: str) -> str:
    """Return what identifies an op: its directory's or file's real path, and its name."""
    if directory is not None:
        return f"{os.path.realpath(directory)}::{op}"
    file, _, name = op.rpartition("::")
    return f"{os.path.realpath(file)}::{name}" if file else op


@record
class Failure:
    """One remembered failure.

    Args:
        id: what ``--repro`` takes.
        key: code, input, output.
        case: inputs and attributes.
        douts: incoming gradients, where the failure has any.
        slopes: one-sided slopes at the element that it names, where they were measured: of the size of each step,
            from the left, from the right.
        facts: all else, as plain data (op, directory, message, where, bound, pattern, elements).
    """

    id: str
    key: Key
    case: Case
    douts: tuple[np.ndarray, ...] = ()
    slopes: Mapping[str, np.ndarray] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def code(self) -> str:
        """The code of the check that failed."""
        return self.key[0]


def _digest(text: str, length: int = 10) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:length]


class FailureStore:
    """Failures on disk, one .npz each, in a folder per op.

    Args:
        folder: where; "" for ``$XDG_CACHE_HOME/opkit/failures`` (by default ``~/.cache/opkit/failures``).
    """

    def __init__(self, folder: str = "") -> None:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        self.folder = Path(folder) if folder else Path(base) / "opkit" / "failures"

    def of(self, checkable: Checkable) -> list[Failure]:
        """Return the failures remembered of an op, in the order of their ids.

        Cases say what an op is meant for: what failed before they were written, or changed, is not asked for again; nor
        is what failed where an option was given for what is declared as an array by now.
        """
        folder = self._folder(op_key(checkable.directory, checkable.name), checkable.name)
        known = {arg.name for arg in checkable.inputs}
        found = [failure for path in sorted(folder.glob("*.npz")) if (failure := _read(path)) is not None]
        domain = domain_of(checkable.directory, checkable.name) if found else ""
        meant = (item for item in found if item.facts.get("domain", "") == domain)
        usable = (
            item
            for item in meant
            if item.facts["is_replayable"] and set(item.case.inputs) <= known and known.isdisjoint(item.case.attrs)
        )
        return [replace(item, case=_retyped(item.case, checkable.default_attrs)) for item in usable]

    def find(self, failure_id: str) -> Failure:
        """Return the failure with an id.

        Raises:
            UsageError: none is remembered under it.
        """
        if re.fullmatch(r"[0-9a-f]+", failure_id):
            for path in sorted(self.folder.glob(f"*/{failure_id}.npz")):
                failure = _read(path)
                if failure is not None:
                    return failure
        raise UsageError(
            f"no failure {failure_id!r} is remembered in {self.folder}",
            help="run opkit gradcheck again: it prints the id of each failure that it saved",
        )

    def update(self, report: OpReport, is_whole: bool = True, device: str = "") -> dict[int, str]:
        """Remember the failures of a report and forget those of the op that no longer fail.

        Args:
            report: of one op.
            is_whole: every check ran, so that what is not in the report no longer fails.
            device: that the run asked for, "" for none.

        Returns:
            {index of the check in the report: id}; empty where the cache folder cannot be written.
        """
        key = op_key(report.dir, report.op)
        folder = self._folder(key, report.op)
        saved: dict[int, str] = {}
        with contextlib.suppress(OSError):
            for index, result in enumerate(report.checks):
                if len(saved) < _MOST_PER_OP and result in report.findings and result.evidence is not None:
                    failure = _failure(key, report, result, device)
                    if failure is not None:
                        _write(folder / f"{failure.id}.npz", failure)
                        saved[index] = failure.id
            if is_whole:
                self._forget(folder, set(saved.values()))
        return saved

    def _forget(self, folder: Path, kept: set[str]) -> None:
        if folder.is_dir():
            for path in folder.glob("*.npz"):
                if path.stem not in kept:
                    path.unlink(missing_ok=True)

    def _folder(self, key: str, op: str) -> Path:
        name = re.sub(r"[^A-Za-z0-9_]+", "_", op.rpartition("/")[2])[:60]
        return self.folder / f"{name}-{_digest(key, 8)}"


def _failure(key: str, report: OpReport, result: CheckResult, device: str) -> Failure | None:
    evidence = result.evidence
    if evidence is None or evidence.case is None:
        return None
    if sum(array.nbytes for _, array in leaves_of(evidence.case.inputs)) > _MOST_BYTES:
        return None
    known_by = former(result)
    facts = {
        "format": _FORMAT,
        "op": report.op,
        "dir": report.dir,
        "root": os.path.abspath(report.dir if report.dir is not None else report.op.rpartition("::")[0]),
        "device": device,
        "result": result.to_json(),
        "regime": evidence.case.regime,
        "seed": evidence.case.seed,
        "domain": domain_of(report.dir, report.op),
        "attrs": evidence.case.attrs,
        "is_replayable": _is_plain(evidence.case.attrs),
        "order": list(evidence.case.inputs),
        "pattern": evidence.pattern,
        "element": evidence.element,
        "output_element": evidence.output_element,
    }
    found = evidence.slopes
    slopes = {} if found is None else {"steps": found.steps, "left": found.left, "right": found.right}
    name = _digest("\0".join((key, *known_by)))
    return Failure(name, known_by, evidence.case, evidence.douts, slopes, plain(facts))


def _is_plain(value: Any) -> bool:
    """Return whether a value comes back from JSON as it was, tuples as lists."""
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_plain(item) for name, item in value.items())
    if isinstance(value, (list, tuple)):
        return all(_is_plain(item) for item in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (type(value) in (bool, int, str) and plain(value) == value)


def _retyped(case: Case, defaults: Mapping[str, Any]) -> Case:
    """Return a case whose list attributes are tuples where the declared default is one."""
    attrs = {
        name: tuple(value) if isinstance(value, list) and isinstance(defaults.get(name), tuple) else value
        for name, value in case.attrs.items()
    }
    return replace(case, attrs=attrs)


def _arrays(failure: Failure) -> Iterator[tuple[str, np.ndarray]]:
    for name, value in failure.case.inputs.items():
        if isinstance(value, np.ndarray):
            yield f"input.{name}", value
        elif isinstance(value, (list, tuple)):
            for index, item in enumerate(value):
                yield f"input.{name}.{index}", item
    for index, dout in enumerate(failure.douts):
        if isinstance(dout, np.ndarray):
            yield f"dout.{index}", dout
    yield from ((f"slopes.{name}", array) for name, array in failure.slopes.items())


def _write(path: Path, failure: Failure) -> None:
    arrays = {name: value for name, value in _arrays(failure) if value.dtype.kind != "O"}
    lists = {name: len(value) for name, value in failure.case.inputs.items() if isinstance(value, (list, tuple))}
    text = json.dumps({"key": failure.key, "lists": lists, **failure.facts})
    write_file(path, packed({"meta": np.array(text), **arrays}))


def packed(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays by name as the content of an .npz."""
    data = io.BytesIO()
    save: Callable[..., None] = np.savez
    save(data, **arrays)
    return data.getvalue()


def _read(path: Path) -> Failure | None:
    """Read a failure; a file that cannot be read, or that somebody has changed, counts as missing."""
    try:
        entries, _ = read_entries(read_file(path, _MOST_BYTES + _MOST_FACTS))
        arrays = {name.removesuffix(".npy"): read_array(data) for name, data in entries.items()}
        facts = json.loads(str(arrays.pop("meta")))
        if facts["format"] != _FORMAT:
            return None
        inputs: dict[str, Any] = {}
        for name in facts["order"]:
            if name in facts["lists"]:
                inputs[name] = [arrays[f"input.{name}.{index}"] for index in range(facts["lists"][name])]
            else:
                inputs[name] = arrays.get(f"input.{name}")
        douts = tuple(arrays[name] for name in sorted(arrays, key=_number) if name.startswith("dout."))
        case = Case(inputs, dict(facts["attrs"]), str(facts["regime"]), int(facts["seed"]), "recorded", FORMER)
        key = (str(facts["key"][0]), str(facts["key"][1]), str(facts["key"][2]))
        slopes = {name.removeprefix("slopes."): array for name, array in arrays.items() if name.startswith("slopes.")}
        return Failure(path.stem, key, case, douts, slopes, facts) if facts.keys() >= _FACTS else None
    except (OSError, ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError, RecursionError):
        return None


def _number(name: str) -> int:
    tail = name.rpartition(".")[2]
    return int(tail) if tail.isdigit() else -1
