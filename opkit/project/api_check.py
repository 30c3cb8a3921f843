"""Checking an API file against the op definitions: the builder calls in its syntax tree, each name with its position.

The file is parsed, not run.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from opkit.diagnostics import Diagnostic, Note, SourceText
from opkit.project.api_remark import Remark, left_out, undeclared, unknown_op
from opkit.project.api_tree import BuilderChain, builder_chains
from opkit.project.findings import finding
from opkit.project.place import span_of
from opkit.spec import CompiledOp


def check_api(
    source: SourceText,
    ops: Mapping[str, CompiledOp],
    skipped: Collection[str],
    others: Collection[str],
    is_whole: bool = True,
) -> list[Diagnostic]:
    """Compare the builder calls of an API file with the definitions.

    Args:
        source: the file.
        ops: the definitions that compiled.
        skipped: op types whose definitions have errors; nothing is reported about them.
        others: op types that exist elsewhere.
        is_whole: whether the definitions were read to their end; otherwise nothing says that an op type is not defined.
    """
    try:
        tree = ast.parse(source.text)
    except (SyntaxError, ValueError) as error:
        line, col = getattr(error, "lineno", None) or 1, getattr(error, "offset", None) or 1
        start = source.offset(line, col)
        return [
            finding(
                "PROJ013", f"the API file does not parse: {getattr(error, 'msg', error)}", source.span(start, start)
            )
        ]
    found: list[Diagnostic] = []
    for chain in builder_chains(tree):
        if chain.op is None or chain.op.value in skipped:
            continue
        name = str(chain.op.value)
        if name in ops:
            found.extend(_check_chain(source, chain, ops[name]))
        elif name not in others and is_whole:
            found.append(_finding(source, chain.op, unknown_op(name, ops)))
    return found


def _check_chain(source: SourceText, chain: BuilderChain, op: CompiledOp) -> Iterator[Diagnostic]:
    inputs, outputs = [arg.name for arg in op.inputs], [arg.name for arg in op.outputs]
    declared = {"Input": inputs, "InputSize": inputs, "Output": outputs, "Attr": list(op.attrs)}
    words = {"Input": "input", "InputSize": "input", "Output": "output", "Attr": "attribute"}
    for method, literal in chain.names:
        name = str(literal.value)
        if name not in declared[method]:
            yield _finding(source, literal, undeclared(op, words[method], name), op)
    if chain.build is None or chain.is_open:
        return
    given = {(words[method], literal.value) for method, literal in chain.names}
    for word, args in (("input", op.inputs), ("output", op.outputs)):
        missing = [arg.name for arg in args if not arg.is_optional and (word, arg.name) not in given]
        if missing and all(name in [arg.name for arg in args] for kind, name in given if kind == word):
            yield _finding(source, chain.op, left_out(op, word, missing), op)


def _finding(source: SourceText, node: ast.expr | None, remark: Remark, op: CompiledOp | None = None) -> Diagnostic:
    return finding(
        remark.code,
        remark.message,
        span_of(source, node) if node is not None else None,
        *(_declared_here(op) if op is not None else ()),
        help=remark.help,
        subject=remark.subject,
    )


def _declared_here(op: CompiledOp) -> tuple[Note, ...]:
    return (Note(f"{op.name!r} is defined here", op.span),) if op.span is not None else ()
