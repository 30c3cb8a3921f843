"""Reading: what an API function does with its parameters, as far as its syntax tree shows.

It helps to choose stubs, and to know where a value came from; findings by tree are ``opkit.project.api_check``'s.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from dataclasses import field

from opkit.record import mutable

_LIST_WORD = re.compile(r"list|tuple|sequence|iterable|collection", re.IGNORECASE)
_LIST_NAME = re.compile(r"(?:^|_)(?:list|inputs|blobs|tensors|values|xs)$")


@mutable
class ApiReading:
    """One function of an API file.

    Args:
        line: of its definition.
        op_types: the op types that it names as constants.
        inputs: {parameter: inputs that it goes into}.
        attrs: {parameter: attributes that it goes into}.
        counts: parameters that give the number of an output.
        lists: parameters that are used or described as a list.
        values: {attribute: the names that its value is made of}.
        calls: the names of functions that it calls.
        returns_a_value: whether a ``return`` of it has a value, or it yields.
    """

    line: int
    op_types: list[str] = field(default_factory=list)
    inputs: dict[str, list[str]] = field(default_factory=dict)
    attrs: dict[str, list[str]] = field(default_factory=dict)
    counts: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)
    values: dict[str, set[str]] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    returns_a_value: bool = False


def read_functions(tree: ast.Module) -> dict[str, ApiReading]:
    """Return what the functions at the top of a file do, by name."""
    found: dict[str, ApiReading] = {}
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[node.name] = _read(node)
    return found


def _read(function: ast.FunctionDef | ast.AsyncFunctionDef) -> ApiReading:
    reading = ApiReading(function.lineno)
    arguments = [node for node in ast.walk(function.args) if isinstance(node, ast.arg)]
    parameters = {item.arg for item in arguments}
    reading.lists = {item.arg for item in arguments if _is_list(item, ast.get_docstring(function) or "")}
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            _read_call(node, reading, parameters)
        elif isinstance(node, (ast.Yield, ast.YieldFrom)) or (isinstance(node, ast.Return) and node.value is not None):
            reading.returns_a_value = True
        reading.lists.update(_used_as_lists(node) & parameters)
    return reading


def _is_list(argument: ast.arg, docstring: str) -> bool:
    """Whether a parameter's annotation, name or description says that it is a list."""
    if argument.annotation is not None and _LIST_WORD.search(ast.unparse(argument.annotation)):
        return True
    lines = (line for line in docstring.splitlines() if re.search(rf"\b{re.escape(argument.arg)}\b", line))
    return bool(_LIST_NAME.search(argument.arg)) or any(_LIST_WORD.search(line) for line in lines)


def _used_as_lists(node: ast.AST) -> set[str]:
    """Return the names that a node uses as lists: iterated, indexed, unpacked, measured."""
    used: list[ast.AST] = []
    if isinstance(node, (ast.For, ast.comprehension)):
        used.append(node.iter)
    elif isinstance(node, (ast.Subscript, ast.Starred)):
        used.append(node.value)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("len", "list", "tuple", "enumerate", "zip"):
        used.extend(node.args)
    return {item.id for item in used if isinstance(item, ast.Name)}


def _read_call(node: ast.Call, reading: ApiReading, parameters: set[str]) -> None:
    if isinstance(node.func, ast.Name):
        reading.calls.add(node.func.id)
        return
    method = getattr(node.func, "attr", "")
    given = [*node.args, *(item.value for item in node.keywords)]
    text = given[0].value if given and isinstance(given[0], ast.Constant) else None
    if method == "Op" and isinstance(text, str):
        reading.op_types.append(text)
    if len(given) < 2 or not isinstance(text, str):
        return
    names = set(_names(given[1]))
    if method == "Attr":
        reading.values.setdefault(text, set()).update(names)
    for name in names & parameters:
        if method == "Input":
            reading.inputs.setdefault(name, []).append(text)
        elif method == "Attr":
            reading.attrs.setdefault(name, []).append(text)
        elif method == "Output":
            reading.counts.add(name)


def _names(node: ast.expr) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and not hasattr(builtins, item.id):
            yield item.id
