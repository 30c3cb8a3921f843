"""Ops of directories on several devices: of the ways that their definitions claim, those that are proved.

Makers: ops of directories that travel: their files go along, and the op is made of them again elsewhere.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from opkit.distribute import Facts, Verdict, Way
from opkit.distribute.asked import Claimed
from opkit.errors import OpkitError
from opkit.ir import Operation, TensorDesc
from opkit.ops import OpDef, Registry
from opkit.ops.core.types import Attrs
from opkit.project import Library, UserOp, to_op_def
from opkit.project.proofs import Held, proved
from opkit.record import record
from opkit.sharding import Arg, parse_sbp
from opkit.spec import CompiledOp


class UnprovedWarning(UserWarning):
    """An op's definition says how it may be cut, nobody has proved it, and so one device runs it alone."""


def claimed_by(registry: Registry) -> Claimed:
    """Return the function that says what is proved about ops of a registry's directories."""
    warned: set[str] = set()

    def claimed(op: Operation, facts: Facts) -> Verdict:
        found = registry.find(op.type)
        if not isinstance(found, UserOp) or found.compiled is None or not found.compiled.makes_claims:
            return Verdict(reason="its definition does not say how it may be cut")
        directory = os.path.dirname(os.path.realpath(found.compiled.span.location.file))
        held = _proved(directory)
        if held is None:
            reason = f"what its definition claims is not proved: run opkit sbp {os.path.relpath(directory)}"
            if op.type not in warned:
                warned.add(op.type)
                file, line = (op.where.file, op.where.line) if op.where is not None else ("<unknown>", 0)
            text = f"op {op.type!r} runs whole on one device: {reason}"
            warnings.warn_explicit(text, UnprovedWarning, file, line or 0)
            return Verdict(reason=reason)
        ways = _ways(op, facts, found.compiled, held)
        return Verdict(tuple(ways), "" if ways else "no proved signature fits these inputs")

    return claimed


@lru_cache(maxsize=64)
def _known(directory: str, stamp: tuple[tuple[str, int, int], ...]) -> frozenset[Held] | None:
    return proved(directory)


def _proved(directory: str) -> frozenset[Held] | None:
    """Return what is proved of a directory; files are hashed again where one has changed."""
    entries = [entry for entry in os.scandir(directory) if entry.is_file()]
    return _known(
        directory, tuple(sorted((item.name, item.stat().st_mtime_ns, item.stat().st_size) for item in entries))
    )


def _ways(op: Operation, facts: Facts, compiled: CompiledOp, held: frozenset[Held]) -> list[Way]:
    inputs = [_arg(item.name) for item in op.opdef.inputs]  # type: ignore[attr-defined]
    outputs = [_arg(item.name) for item in op.opdef.outputs]  # type: ignore[attr-defined]
    descs: dict[str, list[TensorDesc]] = {}
    for (name, _), value, shape in zip(inputs, op.inputs, facts.inputs):
        if value is not None and shape is not None:
            descs.setdefault(name, []).append(TensorDesc(shape, value.desc.dtype))
    counts: dict[str, int] = {}
    for name, _ in outputs:
        counts[name] = counts.get(name, 0) + 1
    try:
        claims = compiled.sbp_claims(descs, dict(op.attrs), facts.count, counts)
    except OpkitError:
        return []
    given = [arg for arg, shape in zip(inputs, facts.inputs) if shape is not None]
    ranks = ", ".join(str(len(shape)) for shape in facts.inputs if shape is not None)
    ways = []
    for claim in claims:
        if not all(arg in claim.parts for arg in (*given, *outputs)):
            continue
        said = [", ".join(claim.parts[arg] for arg in args) or "()" for args in (given, outputs)]
        if (op.type, ranks, " -> ".join(said)) in held:
            parts = tuple(
                None if shape is None else parse_sbp(claim.parts[arg]) for arg, shape in zip(inputs, facts.inputs)
            )
            ways.append(Way(parts, tuple(parse_sbp(claim.parts[arg]) for arg in outputs)))
    return ways


def _arg(flat: str) -> Arg:
    name, _, index = flat.rpartition("_")
    return name, int(index)


#: Folders that this process has written and loaded, by content.
_loaded: dict[str, Library] = {}
_SOURCES = (".py", ".cpp", ".h", ".hpp")


@record
class DirectoryMaker:
    """Makes an op of a directory again.

    Args:
        name: of the directory.
        files: its sources by their path in it.
        op: the op type.
        inputs: descriptions by input name.
        attrs: its attributes.
        outputs: how many values each output has.
    """

    name: str
    files: Mapping[str, bytes]
    op: str
    inputs: Mapping[str, tuple[TensorDesc, ...]]
    attrs: Attrs
    outputs: Mapping[str, int]

    def __call__(self) -> OpDef:
        """Return the op; the directory is written to a folder of this process and loaded, once."""
        digest = hashlib.sha256(repr(sorted(self.files.items())).encode()).hexdigest()
        library = _loaded.get(digest)
        if library is None:
            folder = Path(tempfile.mkdtemp(prefix="opkit-op-")) / self.name
            for path, data in self.files.items():
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / path).write_bytes(data)
            library = _loaded[digest] = Library()
            library.load(folder)
        found = library.registry.get(self.op)
        assert isinstance(found, UserOp)
        return to_op_def(found, {name: list(items) for name, items in self.inputs.items()}, self.attrs, self.outputs)


def maker_for(op: Operation, user_op: UserOp) -> DirectoryMaker:
    """Return what makes the op of an Operation again elsewhere."""
    assert user_op.compiled is not None
    root = Path(os.path.realpath(user_op.compiled.span.location.file)).parent
    files = {
        str(path.relative_to(root)): path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.suffix in _SOURCES and path.is_file()
    }
    opdef: Any = op.opdef
    inputs: dict[str, list[TensorDesc]] = {}
    for arg, value in zip(opdef.inputs, op.inputs):
        if value is not None:
            inputs.setdefault(arg.name.rpartition("_")[0], []).append(value.desc)
    outputs: dict[str, int] = {}
    for arg in opdef.outputs:
        name = arg.name.rpartition("_")[0]
        outputs[name] = outputs.get(name, 0) + 1
    given = {name: tuple(items) for name, items in inputs.items()}
    return DirectoryMaker(root.name, files, op.type, given, dict(op.attrs), outputs)
