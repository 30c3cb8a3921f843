"""Wiring: backward ops of a directory that no gradient registration uses.

Whether a gradient is correct is not checked here; op types are recognised by what compiled gradients build, and by
name.
"""

from __future__ import annotations

from collections.abc import Iterator

from opkit.diagnostics import Diagnostic, Note
from opkit.project.findings import fatal, finding
from opkit.spec import CompiledGrad, CompiledOp, CompileResult

_ENDINGS = ("_backward", "_grad")


def orphans_of(result: CompileResult) -> frozenset[str]:
    """Return the backward ops, by name, whose forward op has no gradient registration that could use them.

    These are the types ``STEM_backward`` and ``STEM_grad`` that no gradient builds and whose forward op stands in the
    same file without a gradient registration, or with one that has errors.
    """
    pairs = ((name, result.grads.get(forward.name)) for name, forward in _pairs(result))
    return frozenset(name for name, grad in pairs if not _is_built(name, result) and (grad is None or grad.has_errors))


def check_wiring(result: CompileResult) -> list[Diagnostic]:
    """Find backward ops that no gradient uses.

    Args:
        result: the compiled definitions. Where a part of them could not be read, nothing is reported, since the
            registration may be there.
    """
    if fatal(result.diagnostics):
        return []
    found: list[Diagnostic] = []
    for name, forward in _pairs(result):
        grad = result.grads.get(forward.name)
        if _is_built(name, result) or (grad is not None and grad.has_errors):
            continue
        found.append(_forgotten(result.ops[name], forward) if grad is None else _unused(result.ops[name], grad))
    return found


def _pairs(result: CompileResult) -> Iterator[tuple[str, CompiledOp]]:
    """Yield every op type that is a backward op by its name, with its forward op in the same file."""
    for name in result.ops:
        for ending in _ENDINGS:
            stem = name.removesuffix(ending)
            forward = result.ops.get(f"{stem}_forward") or result.ops.get(stem)
            if stem != name and forward is not None and not forward.has_no_grad:
                yield name, forward


def _is_built(name: str, result: CompileResult) -> bool:
    return any(name in grad.built_types for grad in result.grads.values())


def _forgotten(op: CompiledOp, forward: CompiledOp) -> Diagnostic:
    return finding(
        "PROJ017",
        f"op type {op.name!r} is the backward op of {forward.name!r} by its name, but {forward.name!r} has no gradient "
        "registration, so it never runs",
        op.span,
        Note(f"{forward.name!r} is registered here", forward.span),
        help=f'add REGISTER_USER_OP_GRAD("{forward.name}") with a function that builds {op.name!r}',
        subject=op.name,
    )


def _unused(op: CompiledOp, grad: CompiledGrad) -> Diagnostic:
    types = grad.built_types
    built = ", ".join(repr(name) for name in sorted(types.names) + list(types.patterns)) or "no op"
    return finding(
        "PROJ018",
        f"op type {op.name!r} is by its name a backward op, but the gradient of {grad.op_type!r} builds {built}",
        op.span,
        Note(f"the gradient of {grad.op_type!r} is registered here", grad.span),
        help=f"let the gradient build {op.name!r}, or remove the op type, or give it another name",
        subject=op.name,
    )
