"""Checking an API file against the op definitions: the builder calls in its syntax tree, each name with its position.

The file is parsed, not run.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from opkit.diagnostics import Diagnostic, Note, SourceText
from opkit.project.api_remark import Remark, left_out, undeclared, unknown_op
from opkit.project.findings import finding
from opkit.project.place import span_of
from opkit.spec import CompiledOp

__all__ = ["check_api"]

_STARTS = ("user_op_builder", "consistent_user_op_builder")
_METHODS = ("Op", "Input", "InputSize", "Output", "Attr", "Build", "CheckAndComplete", "OpName")


@dataclass(slots=True)
class _Chain:
    """The calls on one builder, in order: (method, its first argument if that is a string literal)."""

    op: ast.Constant | None = None
    names: list[tuple[str, ast.Constant]] = field(default_factory=list)
    is_open: bool = False
    build: ast.Call | None = None


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
    collector = _Collector()
    collector.visit(tree)
    found: list[Diagnostic] = []
    for chain in collector.chains:
        if chain.op is None or chain.op.value in skipped:
            continue
        name = str(chain.op.value)
        if name in ops:
            found.extend(_check_chain(source, chain, ops[name]))
        elif name not in others and is_whole:
            found.append(_finding(source, chain.op, unknown_op(name, ops)))
    return found


class _Collector(ast.NodeVisitor):
    """Finds builder chains, including those that are spread over assignments to one variable."""

    def __init__(self) -> None:
        self.chains: list[_Chain] = []
        self._seen: dict[ast.Call, _Chain | None] = {}
        self._variables: dict[str, _Chain] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self._variables = self._variables, dict(self._variables)
        self.generic_visit(node)
        self._variables = outer

    def visit_Assign(self, node: ast.Assign) -> None:
        self.generic_visit(node)
        chain = self._chain(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._variables.pop(target.id, None)
                if chain is not None:
                    self._variables[target.id] = chain

    def visit_Call(self, node: ast.Call) -> None:
        self._chain(node)
        self.generic_visit(node)

    def _chain(self, node: ast.expr) -> _Chain | None:
        if isinstance(node, ast.Name):
            return self._variables.get(node.id)
        if not isinstance(node, ast.Call):
            return None
        if node not in self._seen:
            self._seen[node] = self._call(node)
        return self._seen[node]

    def _call(self, node: ast.Call) -> _Chain | None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in _STARTS:
            chain = _Chain()
            self.chains.append(chain)
            return chain
        if not isinstance(function, ast.Attribute):
            return None
        found = self._chain(function.value)
        if found is None or name not in _METHODS:
            return None
        self._record(found, name, node)
        return found

    def _record(self, chain: _Chain, method: str, node: ast.Call) -> None:
        if method in ("Build", "CheckAndComplete"):
            chain.build = node
            return
        first = node.args[0] if node.args else next((item.value for item in node.keywords), None)
        literal = first if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
        if method == "Op":
            chain.op = literal
        elif literal is None:
            chain.is_open = chain.is_open or method in ("Input", "Output", "InputSize")
        elif method != "OpName":
            chain.names.append((method, literal))


def _check_chain(source: SourceText, chain: _Chain, op: CompiledOp) -> Iterator[Diagnostic]:
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
