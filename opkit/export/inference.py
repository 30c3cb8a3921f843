"""Inference as code: an op's compiled shape and dtype functions as one plain Python function of the exported file.

The compiled functions are rewritten statement by statement; nothing is evaluated here. Sizes are only passed
through, so they may be symbolic.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opkit.export.model import ExportError, ExportKernel
from opkit.ir.dtype import canonical_dtype

__all__ = ["inference_code"]

_WRAPPERS = {"Cell", "Shape", "shape_of", "to_i64", "to_i32", "axes", "copy_of", "to_signed"}
_HELPERS = {
    "idiv": (
        "def _quotient(a, b):\n"
        '    """Divide as C++ does: towards zero."""\n'
        "    return a // b if a >= 0 and b > 0 else -(-a // b) if a < 0 and b > 0 else int(a / b)\n",
        "_quotient",
    ),
    "irem": (
        "def _remainder(a, b):\n"
        '    """Return the remainder as C++ has it: with the sign of a."""\n'
        "    return a % b if a >= 0 and b > 0 else a - b * int(a / b)\n",
        "_remainder",
    ),
    "at": (
        "def _at(items, index):\n"
        '    """Return an element; an index out of range is an error, from either end."""\n'
        "    if not 0 <= index < len(items):\n"
        '        raise IndexError(f"index {index} is out of range for {len(items)} elements")\n'
        "    return items[index]\n",
        "_at",
    ),
}


@dataclass(slots=True)
class _Names:
    """What stands for what in one function.

    Args:
        kernel: the op.
        safe: {declared name: name in the file}.
        framework: how dtypes are written: "torch" or "jnp".
    """

    kernel: ExportKernel
    safe: Mapping[str, str]
    framework: str
    aliases: dict[str, ast.expr] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)


def inference_code(kernel: ExportKernel, safe: Mapping[str, str], framework: str) -> tuple[str, dict[str, str]]:
    """Return the function ``_infer_NAME`` of an op and the functions that it needs besides, by name.

    It takes the inputs and attributes and returns one (shape, dtype) per output.

    Args:
        kernel: the op.
        safe: {argument or attribute: its name in the file}.
        framework: the module that dtypes belong to in the file.

    Raises:
        ExportError: its definition uses something that has no form in the file; the message names it.
    """
    names = _Names(kernel, safe, framework)
    body: list[ast.stmt] = []
    for slot in ("check_attr", "data_type", "tensor_desc"):
        unit = kernel.compiled.units.get(slot)
        if unit is not None:
            tree = ast.parse(unit.source)
            function = tree.body[0]
            if not isinstance(function, ast.FunctionDef) or len(tree.body) != 1:
                raise _unknown(kernel, "several functions")
            body += _Rewriter(names).function(function)
    given = [safe[arg.name] for arg in kernel.inputs]
    head = f"def _infer_{kernel.name}({', '.join([*given, *(safe[spec.name] for spec in kernel.attrs)])}):"
    lines = [head, f'    """Return (shape, dtype) of each output of {kernel.name}, or refuse the inputs."""']
    whole = {target for item in body if isinstance(item, ast.Assign) for target in _targets(item)}
    for arg in kernel.outputs:
        for what in ("shape", "dtype"):
            name = f"{safe[arg.name]}_{what}"
            if name not in whole:
                if not given:
                    raise _unknown(kernel, f"an output {arg.name!r} whose {what} is never set")
                lines.append(f"    {name} = {given[0]}.{what}")
    lines += ["    " + line for item in body for line in ast.unparse(ast.fix_missing_locations(item)).splitlines()]
    pairs = ", ".join(f"(tuple({safe[arg.name]}_shape), {safe[arg.name]}_dtype)" for arg in kernel.outputs)
    lines.append(f"    return [{pairs}]")
    return "\n".join(lines) + "\n", names.helpers


def _targets(item: ast.Assign) -> list[str]:
    return [target.id for target in item.targets if isinstance(target, ast.Name)]


def _unknown(kernel: ExportKernel, what: str) -> ExportError:
    return ExportError(
        f"the definition of {kernel.name!r} uses {what}, which inference in an exported file does not support",
        where=kernel.compiled.span.location,
    )


class _Rewriter(ast.NodeTransformer):
    """Rewrites one compiled function."""

    def __init__(self, names: _Names) -> None:
        self.names = names
        self.context = "ctx"
        self.dtypes: set[str] = set()

    def function(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """Return the statements of a function; its context is resolved."""
        arguments = [item.arg for item in node.args.args]
        if len(arguments) != 1:
            raise _unknown(self.names.kernel, "its own check of attributes")
        self.context = arguments[0]
        body = list(node.body)
        if body and isinstance(body[-1], ast.Return):
            body.pop()
        found: list[ast.stmt] = []
        for item in body:
            done = self.visit(item)
            if done is not None:
                found += done if isinstance(done, list) else [done]
        return found

    # --- statements
    def visit_Return(self, node: ast.Return) -> Any:
        raise _unknown(self.names.kernel, "an early return")

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "is_dynamic":
            return None
        if isinstance(target, ast.Name) and self._is_pointer(node.value):
            self.names.aliases[target.id] = self.visit(node.value)
            return None
        is_dtype = isinstance(target, ast.Attribute) and target.attr == "dtype" and isinstance(node.value, ast.Constant)
        bare = node.value.args[0] if isinstance(node.value, ast.Call) and node.value.args else node.value
        if isinstance(target, ast.Name) and isinstance(bare, ast.Attribute) and bare.attr == "dtype":
            self.dtypes.add(target.id)
        value = self._dtype(node.value) if is_dtype and isinstance(node.value, ast.Constant) else self.visit(node.value)
        place = self._place(target) if isinstance(target, ast.Attribute) else self.visit(target)
        if ast.unparse(place) == ast.unparse(value):
            return None
        if isinstance(target, ast.Attribute) and self._is_pointer_name(value):
            value = ast.Call(ast.Name("tuple"), [value], [])
        return ast.Assign([place], value)

    def visit_Expr(self, node: ast.Expr) -> Any:
        value = node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("push_axis", "push"):
            items, item = (self.visit(arg) for arg in value.args)
            return ast.Expr(ast.Call(ast.Attribute(items, "append"), [item], []))
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "pop":
            return ast.Expr(ast.Call(ast.Attribute(self.visit(value.args[0]), "pop"), [], []))
        return ast.Expr(self.visit(value))

    def visit_Raise(self, node: ast.Raise) -> Any:
        call = node.exc
        if not (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("refused", "failed")
        ):
            raise _unknown(self.names.kernel, "an exception of its own")
        site = call.args[0]
        if not isinstance(site, ast.Constant) or not isinstance(site.value, int):
            raise _unknown(self.names.kernel, "a check without a place")
        said = self.names.kernel.compiled.linker.program.sites[site.value].text
        parts: list[ast.expr] = []
        more = [self.visit(part) for part in call.args[2:]]
        if not (more and "Error" in said.split("(", 1)[0]):
            parts.append(ast.Constant(f"{self.names.kernel.name}: {said} failed"))
            given = call.args[1]
            if isinstance(given, ast.List) and given.elts:
                parts.append(ast.Constant(" ("))
                for index, item in enumerate(given.elts):
                    parts += [ast.Constant(" vs ")] if index else []
                    shown = self.visit(item)
                    is_plain = isinstance(shown, ast.Constant)
                    parts.append(ast.Constant(str(shown.value)) if is_plain else ast.FormattedValue(shown, -1))
                parts.append(ast.Constant(")"))
            parts += [ast.Constant(": ")] if more else []
        parts += [item if isinstance(item, ast.Constant) else ast.FormattedValue(item, -1) for item in more]
        message: ast.expr = ast.JoinedStr(parts)
        if all(isinstance(item, ast.Constant) for item in parts):
            message = ast.Constant("".join(str(item.value) for item in parts if isinstance(item, ast.Constant)))
        return ast.Raise(ast.Call(ast.Name("ValueError"), [message], []))

    # --- expressions
    def _is_pointer(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        owner = node.func.value
        return isinstance(owner, ast.Name) and owner.id == self.context and node.func.attr in ("shape_pointer", "desc")

    def _is_pointer_name(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "shape"

    def _argument(self, node: ast.Call) -> tuple[str, bool]:
        """Return the argument of ``ctx.desc((name, 0))`` and whether it is an output."""
        given = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args
        values = [item.value if isinstance(item, ast.Constant) else None for item in given]
        kernel = self.names.kernel
        if len(values) != 2 or values[1] != 0:
            raise _unknown(kernel, "an argument by a computed name or index")
        if values[0] in [arg.name for arg in kernel.inputs]:
            return str(values[0]), False
        if values[0] in [arg.name for arg in kernel.outputs]:
            return str(values[0]), True
        raise _unknown(kernel, f"the optional or undeclared argument {values[0]!r}")

    def _field(self, node: ast.Call, what: str) -> ast.expr:
        name, is_output = self._argument(node)
        if is_output:
            return ast.Name(f"{self.names.safe[name]}_{what}")
        return ast.Attribute(ast.Name(self.names.safe[name]), what)

    def _place(self, target: ast.Attribute) -> ast.expr:
        place: ast.expr = self.visit(target)
        return place

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a node."""
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> Any:
        if node.id in self.names.aliases:
            return self.names.aliases[node.id]
        taken = {*self.names.safe.values(), *(f"{name}_shape" for name in self.names.safe.values())}
        if node.id in taken and node.id not in {self.names.safe[spec.name] for spec in self.names.kernel.attrs}:
            return ast.Name(node.id + "_")
        return ast.Name(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        if node.attr in ("v", "dims"):
            return self.visit(node.value)
        if node.attr in ("shape", "dtype") and isinstance(node.value, ast.Call) and self._is_pointer(node.value):
            return self._field(node.value, node.attr)
        raise _unknown(self.names.kernel, f"{ast.unparse(node)!r}")

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "attrs" and isinstance(node.slice, ast.Constant):
            return ast.Name(self.names.safe[str(node.slice.value).rpartition(":")[0]])
        return ast.Subscript(self.visit(base), self.visit(node.slice))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        is_mask = isinstance(node.op, ast.BitAnd) and isinstance(node.right, ast.Constant)
        if is_mask and isinstance(node.right, ast.Constant) and node.right.value == 0xFFFFFFFFFFFFFFFF:
            return self.visit(node.left)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        sides = [node.left, *node.comparators]
        if any(self._is_dtype(item) for item in sides):
            done = [self._dtype(item) if isinstance(item, ast.Constant) else self.visit(item) for item in sides]
            return ast.Compare(done[0], node.ops, done[1:])
        return self.generic_visit(node)

    def _is_dtype(self, item: ast.expr) -> bool:
        if isinstance(item, ast.Attribute) and item.attr == "v":
            return self._is_dtype(item.value)
        is_field = isinstance(item, ast.Attribute) and item.attr == "dtype"
        return is_field or (isinstance(item, ast.Name) and item.id in self.dtypes)

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node

    def _dtype(self, node: ast.Constant) -> ast.expr:
        try:
            name = canonical_dtype(node.value)
        except Exception as error:  # a dtype that numpy lacks
            raise _unknown(self.names.kernel, f"the dtype {node.value!r}") from error
        return ast.Attribute(
            ast.Name(self.names.framework), "bool_" if name == "bool" and self.names.framework == "jnp" else name
        )

    def visit_Call(self, node: ast.Call) -> Any:
        if self._is_pointer(node):
            return self._field(node, "shape")
        function = node.func
        if isinstance(function, ast.Name):
            return self._call(function.id, node)
        if isinstance(function, ast.Attribute):
            return self._method(function, node)
        raise _unknown(self.names.kernel, f"{ast.unparse(node)!r}")

    def _call(self, name: str, node: ast.Call) -> ast.expr:
        args: list[ast.expr] = [self.visit(arg) for arg in node.args]
        if name in _WRAPPERS:
            first: ast.expr = args[0] if args else ast.Tuple([])
            return first
        if name == "idx":
            return args[1]
        if name == "filled":
            return ast.BinOp(ast.List([args[1]]), ast.Mult(), args[0])
        if name in _HELPERS:
            text, own = _HELPERS[name]
            self.names.helpers[own] = text
            return ast.Call(ast.Name(own), args, [])
        if name in ("len", "tuple", "list", "min", "max", "abs", "bool", "int", "float", "sorted", "sum"):
            return ast.Call(ast.Name(name), args, [])
        raise _unknown(self.names.kernel, f"the function {name!r}")

    def _method(self, function: ast.Attribute, node: ast.Call) -> ast.expr:
        owner = function.value
        args: list[ast.expr] = [self.visit(arg) for arg in node.args]
        if isinstance(owner, ast.Name) and owner.id == "METER":
            if function.attr == "span":
                is_zero = isinstance(args[0], ast.Constant) and args[0].value == 0
                return ast.Call(ast.Name("range"), args[1:] if is_zero else args, [])
            if function.attr in ("each", "whole"):
                return args[0]
            if function.attr == "tick":
                return ast.Constant(True)
        if function.attr == "at":
            if isinstance(args[0], ast.Constant):
                return ast.Subscript(self.visit(owner), args[0])
            text, own = _HELPERS["at"]
            self.names.helpers[own] = text
            return ast.Call(ast.Name(own), [self.visit(owner), args[0]], [])
        if function.attr == "elements":
            return ast.Call(ast.Attribute(ast.Name("math"), "prod"), [self.visit(owner)], [])
        raise _unknown(self.names.kernel, f"{ast.unparse(node)!r}")
