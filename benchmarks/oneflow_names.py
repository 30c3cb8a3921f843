"""The public names of OneFlow v0.4, as the table ``opkit/shim/known/oneflow.txt`` lists them, read from its sources.

Run with a folder of v0.4.0's sources: ``python benchmarks/oneflow_names.py SOURCES > opkit/shim/known/oneflow.txt``.
A function is public under the names that its ``oneflow_export`` decorator lists, and under ``experimental`` besides
unless it is marked stable; dtypes and the like are assigned in ``oneflow/init.py``. Nothing of OneFlow is run.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path


def main(sources: Path) -> None:
    """Print the table of a folder of sources."""
    names = set(_assigned(sources / "oneflow/init.py"))
    for path in sorted((sources / "oneflow/python").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "oneflow_export" not in text:  # some of the others are for Python 2
            continue
        tree = ast.parse(text)
        names.update(name for node in ast.walk(tree) for name in _exported(node))
        names.update(_renamed(tree))
    modules: dict[str, set[str]] = {"oneflow": set()}
    for name in names:
        parts = ["oneflow", *name.split(".")]
        for count in range(1, len(parts)):
            modules.setdefault(".".join(parts[:count]), set()).add(parts[count])
    print("# public names of OneFlow v0.4.0: written by benchmarks/oneflow_names.py")
    for module in sorted(modules):
        print(module, *sorted(modules[module]))


def _exported(node: ast.AST) -> Iterator[str]:
    """Yield the names under which a function or class is exported."""
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return
    tags = {item.id for item in node.decorator_list if isinstance(item, ast.Name)}
    for item in node.decorator_list:
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "oneflow_export":
            for argument in item.args:
                name = ast.literal_eval(argument)
                if "stable_api" in tags or "experimental_api" not in tags:
                    yield name
                if "stable_api" not in tags and not name.startswith("experimental."):
                    yield f"experimental.{name}"


def _renamed(tree: ast.Module) -> Iterator[str]:
    """Yield the public names of compiled classes: the values of the table that renames them."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "internal_names_2_api_names":
            yield from ast.literal_eval(node.value).values()


def _assigned(init: Path) -> Iterator[str]:
    """Yield the names that the package's first module assigns or imports and keeps."""
    for node in ast.parse(init.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign):
            target = node.targets[0]
            name = ast.literal_eval(target.slice) if isinstance(target, ast.Subscript) else ast.unparse(target)
            if "." not in name and not name.startswith("_"):
                yield name
        if isinstance(node, ast.ImportFrom) and node.module and node.module.endswith("_pb2"):
            yield from (item.asname or item.name for item in node.names)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
