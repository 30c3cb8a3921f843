"""Building op directories: each is loaded on its own, and op types that two of them define are found.

Nothing is printed: the result is data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from opkit.diagnostics import Diagnostic, Note, sort_diagnostics, to_json
from opkit.ops import BUILTIN, Registry
from opkit.project.api_fact import ApiFact
from opkit.project.directory import OpDirectory
from opkit.project.findings import finding
from opkit.project.loading import LoadedOps, assemble, unparsed_cases, with_facts
from opkit.project.user_op import UserOp
from opkit.record import record


@record
class Build:
    """The result of building op directories.

    Args:
        loaded: one entry per directory, in the order given.
        diagnostics: all findings, sorted by file and position.
    """

    loaded: tuple[LoadedOps, ...]
    diagnostics: tuple[Diagnostic, ...]

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(item.is_error for item in self.diagnostics)

    def to_json(self, version: str) -> dict[str, Any]:
        """Return the object that ``opkit build --format json`` prints."""
        return {
            "schema": 1,
            "opkit": version,
            "ops": [_op_json(op, item.directory) for item in self.loaded for op in item.ops.values()],
            "diagnostics": [to_json(item) for item in self.diagnostics],
        }


def build(
    directories: Iterable[OpDirectory],
    parent: Registry = BUILTIN,
    *,
    runs_python: bool = True,
    facts: Mapping[str, Sequence[ApiFact]] = MappingProxyType({}),
) -> Build:
    """Load op directories; whatever is wrong becomes a finding.

    Args:
        directories: the op directories.
        parent: the registry that knows the built-in ops.
        runs_python: whether kernel files are executed.
        facts: the results of trying API files (``opkit.verify.trial``), by the real path of their directory.
    """
    loaded = tuple(
        with_facts(assemble(directory, parent, runs_python=runs_python), facts.get(directory.real, ()))
        for directory in directories
    )
    found = [item for one in loaded for item in (*one.diagnostics, *unparsed_cases(one.directory))]
    found.extend(_defined_twice(loaded))
    return Build(loaded, sort_diagnostics(found))


def _defined_twice(loaded: Iterable[LoadedOps]) -> list[Diagnostic]:
    first: dict[str, tuple[LoadedOps, UserOp]] = {}
    found: list[Diagnostic] = []
    for one in loaded:
        for op in one.ops.values():
            before = first.setdefault(op.name, (one, op))
            if before[0] is one:
                continue
            other = before[1].compiled
            note = Note(f"defined before in {before[0].directory.spec}", other.span if other is not None else None)
            span = op.compiled.span if op.compiled is not None else None
            found.append(
                finding(
                    "PROJ012",
                    f"op type {op.name!r} is defined in {before[0].directory.path} and in {one.directory.path}",
                    span,
                    note,
                    help="an op type has one definition; rename one of the ops",
                    subject=op.name,
                )
            )
    return found


def _op_json(op: UserOp, directory: OpDirectory) -> dict[str, Any]:
    compiled = op.compiled
    return {
        "op": op.name,
        "dir": str(directory.path),
        "inputs": [] if compiled is None else [arg.name for arg in compiled.inputs],
        "outputs": [] if compiled is None else [arg.name for arg in compiled.outputs],
        "attrs": {}
        if compiled is None
        else {spec.name: {"type": spec.type, "default": _plain(spec.default)} for spec in compiled.attrs.values()},
        "gradient": op.has_gradient,
        "kernels": [] if op.kernel is None else [op.kernel.where.function],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
