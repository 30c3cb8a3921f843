"""Checking an API file against the op definitions: the builder calls in its syntax tree, each name with its position.

The file is parsed, not run.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from opkit.diagnostics import Diagnostic, SourceText
from opkit.project.api_remark import declared_names, left_out, placed, undeclared, unknown_op
from opkit.project.api_tree import BuilderChain, builder_chains
from opkit.project.findings import finding
from opkit.project.place import span_of
from opkit.spec import CompiledOp

#: What each method of a builder gives.
_WORDS = {"Input": "input", "InputSize": "input", "Output": "output", "Attr": "attribute"}


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
        message = f"the API file does not parse: {getattr(error, 'msg', error)}"
        return [finding("PROJ013", message, source.span(start, start))]
    found: list[Diagnostic] = []
    for chain in builder_chains(tree):
        if chain.op is None or chain.op.value in skipped:
            continue
        name = str(chain.op.value)
        if name in ops:
            found.extend(_check_chain(source, chain, ops[name]))
        elif name not in others and is_whole:
            found.append(placed(unknown_op(name, ops), span_of(source, chain.op), None))
    return found


def _check_chain(source: SourceText, chain: BuilderChain, op: CompiledOp) -> Iterator[Diagnostic]:
    given: dict[str, set[str]] = {"input": set(), "output": set(), "attribute": set()}
    for method, literal in chain.names:
        word, name = _WORDS[method], str(literal.value)
        given[word].add(name)
        if name not in declared_names(op, word):
            yield placed(undeclared(op, word, name), span_of(source, literal), op)
    if chain.op is None or chain.build is None or chain.is_open:
        return
    for word, args in (("input", op.inputs), ("output", op.outputs)):
        missing = [arg.name for arg in args if not arg.is_optional and arg.name not in given[word]]
        if missing and given[word] <= set(declared_names(op, word)):
            yield placed(left_out(op, word, missing), span_of(source, chain.op), op)
