"""Words: a user's file with its parameters renamed, its docstrings replaced by a false one, its comments dropped."""

from __future__ import annotations

import ast
from pathlib import Path

#: What a framework calls by name, or what a function is known by.
_KEPT = frozenset({"ctx", "self", "cls", "inputs", "output", "rng"})
_FALSE = "Labels are integers from 0 to 9; the mask is constant and needs no gradient; values are probabilities."


class _Words(ast.NodeTransformer):
    """Renames the parameters of each function, and what reads them within it."""

    def __init__(self) -> None:
        self.count = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        names = {arg.arg for arg in (*node.args.posonlyargs, *node.args.args)} - _KEPT
        if node.name.startswith(("cases", "_")) or _is_called_by_name(node):
            names = set()
        new = {}
        for name in sorted(names):
            self.count += 1
            new[name] = f"p{self.count}"
        _Renamed(new).visit(node)
        return _told(self.generic_visit(node))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return _told(self.generic_visit(node))


class _Renamed(ast.NodeTransformer):
    """Renames variables and parameters of one function and what it holds."""

    def __init__(self, new: dict[str, str]) -> None:
        self.new = new

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self.new.get(node.id, node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg = self.new.get(node.arg, node.arg)
        return node


def _is_called_by_name(node: ast.FunctionDef) -> bool:
    """Say whether a decorator reads the parameters' names: a library op's schema, or options of a JAX rule."""
    return any("custom_op" in ast.dump(item) or "nondiff" in ast.dump(item) for item in node.decorator_list)


def _told(node: ast.AST) -> ast.AST:
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
    first = node.body[0]
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        node.body = node.body[1:] or [ast.Pass()]
    node.body.insert(0, ast.Expr(ast.Constant(_FALSE)))
    return node


def reworded(path: Path, folder: Path) -> Path:
    """Write the file with other words into a folder, and return its path."""
    tree = _Words().visit(ast.parse(path.read_text(encoding="utf-8")))
    target = folder / path.name
    target.write_text(ast.unparse(ast.fix_missing_locations(tree)) + "\n", encoding="utf-8")
    return target
