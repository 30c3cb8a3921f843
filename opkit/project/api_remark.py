"""The wording of findings about builder calls, shared by reading the API file and trying its functions.

Positions are added by the finder: ``api_check`` reads the API file's tree, ``opkit.verify.trial`` calls its functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from opkit.diagnostics import Diagnostic, Note, Span
from opkit.errors import unknown
from opkit.project.findings import finding
from opkit.record import record
from opkit.spec import CompiledOp


@record
class Remark:
    """A finding without its position.

    Args:
        code: of the finding.
        message: what is wrong, one sentence.
        help: the next step, one line.
        subject: the op type that it is about, "" for the whole file.
    """

    code: str
    message: str
    help: str = ""
    subject: str = ""


def placed(remark: Remark, span: Span | None, op: CompiledOp | None) -> Diagnostic:
    """Return a remark as a finding, with the place where the op type that it is about is defined."""
    notes = (Note(f"{op.name!r} is defined here", op.span),) if op is not None and op.span is not None else ()
    return finding(remark.code, remark.message, span, *notes, help=remark.help, subject=remark.subject)


def undeclared(op: CompiledOp, word: str, name: str) -> Remark:
    """Return the remark about an input, output or attribute that an op type does not have.

    Args:
        op: the op type's definition.
        word: input, output or attribute.
        name: as the API file gives it.
    """
    declared = declared_names(op, word)
    only = f"its one {word} is {declared[0]!r}" if len(declared) == 1 else ""
    said = unknown(f"op type {op.name!r} declares no {word}", name, declared, has="it declares", otherwise=only)
    return Remark("PROJ009" if word == "attribute" else "PROJ008", said.message, said.help, op.name)


def declared_names(op: CompiledOp, word: str) -> list[str]:
    """Return the names of what an op type declares, by the word for it: input, output or attribute."""
    if word == "attribute":
        return list(op.attrs)
    return [arg.name for arg in (op.inputs if word == "input" else op.outputs)]


def left_out(op: CompiledOp, word: str, missing: Sequence[str]) -> Remark:
    """Return the remark about inputs or outputs that a builder omits.

    Args:
        op: the op type's definition.
        word: input or output.
        missing: their names.
    """
    names = ", ".join(repr(name) for name in missing)
    call = f'.Input("{missing[0]}", [value])' if word == "input" else f'.Output("{missing[0]}")'
    return Remark(
        "PROJ014",
        f"the builder of op type {op.name!r} leaves out its {word}{'s' if len(missing) > 1 else ''} {names}",
        f"add {call} before .Build()",
        op.name,
    )


def unknown_op(name: str, ops: Iterable[str]) -> Remark:
    """Return the remark about an op type that is not defined.

    Args:
        name: as the API file gives it.
        ops: the op types that the directory defines.
    """
    said = unknown("no op type", name, ops, tail=" is defined", has="the definitions have")
    return Remark("PROJ007", said.message, said.help)
