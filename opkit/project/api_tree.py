"""ApiTree: the builder chains of an API file, as its syntax tree shows them, without running it.

The comparison with the definitions is in ``api_check``.
"""

from __future__ import annotations

import ast
from dataclasses import field

from opkit.record import mutable

_STARTS = ("user_op_builder", "consistent_user_op_builder")
_METHODS = ("Op", "Input", "InputSize", "Output", "Attr", "Build", "CheckAndComplete", "OpName")


@mutable
class BuilderChain:
    """The calls on one builder.

    Args:
        op: the op type, None where it is not a string literal.
        names: (method, its first argument), in order, where that is a string literal.
        is_open: whether an argument of the op is not named by a string literal.
        build: the call that builds.
        function: the function that it stands in, None at the top level.
        values: {attribute: the expression that it is given}.
    """

    op: ast.Constant | None = None
    names: list[tuple[str, ast.Constant]] = field(default_factory=list)
    is_open: bool = False
    build: ast.Call | None = None
    function: ast.FunctionDef | None = None
    values: dict[str, ast.expr] = field(default_factory=dict)


def builder_chains(tree: ast.Module) -> list[BuilderChain]:
    """Return the builder chains of a file, in order."""
    collector = _Collector()
    collector.visit(tree)
    return collector.chains


class _Collector(ast.NodeVisitor):
    """Finds builder chains, including those that are spread over assignments to one variable."""

    def __init__(self) -> None:
        self.chains: list[BuilderChain] = []
        self._seen: dict[ast.Call, BuilderChain | None] = {}
        self._variables: dict[str, BuilderChain] = {}
        self._function: ast.FunctionDef | None = None

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer = self._variables, self._function
        self._variables, self._function = dict(self._variables), node
        self.generic_visit(node)
        self._variables, self._function = outer

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

    def _chain(self, node: ast.expr) -> BuilderChain | None:
        if isinstance(node, ast.Name):
            return self._variables.get(node.id)
        if not isinstance(node, ast.Call):
            return None
        if node not in self._seen:
            self._seen[node] = self._call(node)
        return self._seen[node]

    def _call(self, node: ast.Call) -> BuilderChain | None:
        function = node.func
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if name in _STARTS:
            chain = BuilderChain(function=self._function)
            self.chains.append(chain)
            return chain
        if not isinstance(function, ast.Attribute):
            return None
        found = self._chain(function.value)
        if found is None or name not in _METHODS:
            return None
        self._record(found, name, node)
        return found

    def _record(self, chain: BuilderChain, method: str, node: ast.Call) -> None:
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
            value = node.args[1] if len(node.args) > 1 else None
            if method == "Attr" and value is not None:
                chain.values[str(literal.value)] = value
