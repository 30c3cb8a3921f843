"""Ops of directories on several devices: of the ways that their definitions claim, those that are proved."""

from __future__ import annotations

import os
import warnings
from functools import lru_cache

from opkit.distribute import Facts, Verdict, Way
from opkit.distribute.asked import Claimed
from opkit.errors import OpkitError
from opkit.ir import Operation, TensorDesc
from opkit.ops import Registry
from opkit.project import UserOp
from opkit.project.proofs import Held, proved
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
