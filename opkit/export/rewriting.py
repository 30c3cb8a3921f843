"""Rewriting: the compiled functions of a definition, statement by statement, as plain Python of an exported file.

Which functions an exported file has, and how they are called, is ``inference``'s business. The module is long because
every construct of compiled definitions has its place in one visitor.
"""

from __future__ import annotations

import ast
from typing import Any

from opkit.export.emitted_names import Names
from opkit.export.inference_library import LIBRARY
from opkit.export.layout import short
from opkit.export.model import ExportError
from opkit.export.ownership import own_variables
from opkit.export.unsupported import quoted, statement_span, unknown_use
from opkit.ir.dtype import canonical_dtype
from opkit.spec.lower.units import Unit

_WRAPPERS = {"Cell", "Shape", "shape_of", "to_i64", "to_i32", "axes", "copy_of", "to_signed"}
_POINTERS = {"shape_pointer", "desc", "need"}


def parsed(text: str) -> ast.stmt:
    """Return a statement of its text."""
    return ast.parse(text).body[0]


class Rewriter(ast.NodeTransformer):
    """Rewrites one compiled function; a helper is one that other functions of the definition call."""

    def __init__(self, names: Names, unit: Unit, is_helper: bool = False) -> None:
        self.names = names
        self.unit = unit
        self.is_helper = is_helper
        self.context = "ctx"
        self.dtypes: set[str] = set()
        self.own: set[str] = set()

    def function(self, node: ast.FunctionDef) -> list[ast.stmt]:
        """Return the statements of a function; its context is resolved."""
        self.own = own_variables(node.body, self.names.kernel.compiled.linker.program.units)
        if self.is_helper:
            return self.statements(node.body)
        arguments = [item.arg for item in node.args.args]
        self.context = arguments[-1]
        body = list(node.body)
        if body and isinstance(body[-1], ast.Return):
            body.pop()
        return self.statements(body)

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return some statements rewritten."""
        found: list[ast.stmt] = []
        for item in body:
            done = self.visit(item)
            if done is not None:
                found += done if isinstance(done, list) else [done]
        return found

    # --- statements
    def visit_Return(self, node: ast.Return) -> Any:
        """Write what the function of the file returns."""
        if self.is_helper:
            return ast.Return(self.visit(node.value) if node.value is not None else None)
        return parsed(f"return {self.names.result}")

    def visit_While(self, node: ast.While) -> Any:
        """Write a loop; the meter of its rounds is left out."""
        is_endless = isinstance(node.test, ast.Call) and ast.unparse(node.test) == "METER.tick()"
        test = ast.Constant(True) if is_endless else self.visit(node.test)
        return ast.While(test, self.statements(node.body), self.statements(node.orelse))

    def visit_Assign(self, node: ast.Assign) -> Any:
        """Write an assignment; pointers to arguments become names for them."""
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
        if isinstance(target, ast.Attribute) and target.attr in ("v", "dims"):
            place = self._changed(target.value)
        else:
            place = self.visit(target)
        if ast.unparse(place) == ast.unparse(value):
            return None
        if isinstance(target, ast.Attribute) and self._is_pointer_name(value):
            value = ast.Call(ast.Name("tuple"), [value], [])
        return ast.Assign([place], value)

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Write a call for its effect."""
        value = node.value
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "set":
            place = self._changed(value.func.value)
            given = [place, *(self.visit(arg) for arg in value.args)]
            return ast.Assign([place], ast.Call(ast.Name(self._library("set")), given, []))
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in ("push_axis", "push"):
            items, item = (self.visit(arg) for arg in value.args)
            return ast.Expr(ast.Call(ast.Attribute(items, "append"), [item], []))
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "pop":
            return ast.Expr(ast.Call(ast.Attribute(self.visit(value.args[0]), "pop"), [], []))
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            changed = self._changed_list(value.func.id, value)
            if changed is not None:
                return changed
        return ast.Expr(self.visit(value))

    def visit_Raise(self, node: ast.Raise) -> Any:
        """Write a failed check as a ValueError with its message."""
        call = node.exc
        if not (
            isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in ("refused", "failed")
        ):
            raise self._unknown(node)
        site = call.args[0]
        if not isinstance(site, ast.Constant) or not isinstance(site.value, int):
            raise self._unknown(node)
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

    def _changed(self, node: ast.expr) -> ast.Name:
        """Return the variable that is bound anew where a definition changes a shape or number in place.

        Raises:
            ExportError: more than this variable refers to it, or it is a part of something or an argument.
        """
        place = self.visit(node)
        names = self.names
        outputs = [f"{names.safe[arg.name]}_shape" for arg in names.kernel.outputs if arg.name in names.safe]
        is_own = isinstance(node, ast.Name) and node.id in self.own
        if not isinstance(place, ast.Name) or not (is_own or place.id in outputs):
            raise self._unknown(node)
        return place

    def _changed_list(self, name: str, node: ast.Call) -> ast.stmt | None:
        """Return the statement that inserts or erases one element of a list, None for another call."""
        place = node.args[1] if name in ("insert", "erase") else None
        start = place.left if isinstance(place, ast.BinOp) and isinstance(place.op, ast.Add) else place
        if not (isinstance(start, ast.Call) and isinstance(start.func, ast.Name) and start.func.id == "Iterator"):
            return None
        items, index = self.visit(node.args[0]), self.visit(start.args[1])
        if isinstance(place, ast.BinOp):
            index = ast.BinOp(index, ast.Add(), self.visit(place.right))
        if name == "erase":
            return ast.Delete([ast.Subscript(items, index)]) if len(node.args) == 2 else None
        given = node.args[2]
        if not isinstance(given, ast.List) or len(given.elts) != 1:
            return None
        return ast.Expr(ast.Call(ast.Attribute(items, "insert"), [index, self.visit(given.elts[0])], []))

    def _unknown(self, node: ast.expr | ast.stmt, what: str = "") -> ExportError:
        """Return the error for a piece of the function; the statement is quoted where nothing else is said."""
        span = statement_span(self.unit, node.lineno)
        return unknown_use(self.names.kernel, what or quoted(span), span)

    # --- expressions
    def _is_pointer(self, node: ast.expr) -> bool:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        owner = node.func.value
        return isinstance(owner, ast.Name) and owner.id == self.context and node.func.attr in _POINTERS

    def _is_pointer_name(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == "shape"

    def _argument(self, node: ast.Call) -> tuple[str, bool]:
        """Return the argument of ``ctx.desc((name, 0))`` or ``ctx.need(name, 0)`` and whether it is an output."""
        given = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args
        values = [item.value if isinstance(item, ast.Constant) else None for item in given]
        kernel = self.names.kernel
        if len(values) != 2 or values[0] is None or values[1] != 0:
            raise self._unknown(node, "an output by a computed name or index")
        if values[0] in [arg.name for arg in kernel.inputs]:
            return str(values[0]), False
        if values[0] in [arg.name for arg in kernel.outputs]:
            return str(values[0]), True
        raise self._unknown(node, f"the optional or undeclared argument {values[0]!r}")

    def _read(self, node: ast.Call) -> ast.expr | None:
        """Return an input that is a list's item, or named by what is computed; None for others."""
        given = node.args[0].elts if isinstance(node.args[0], ast.Tuple) else node.args
        kernel, (name, place) = self.names.kernel, given
        if isinstance(name, ast.Constant):
            if any(arg.name == name.value for arg in kernel.outputs):
                return None
            if not kernel.is_list(str(name.value)) or str(name.value) not in self.names.safe:
                return None
            return ast.Subscript(ast.Name(self.names.safe[str(name.value)]), self.visit(place))
        self.names.asks_given = True
        return ast.Subscript(ast.Name("given"), ast.Tuple([self.visit(name), self.visit(place)]))

    def _field(self, node: ast.Call, what: str) -> ast.expr:
        read = self._read(node)
        if read is not None:
            return ast.Attribute(read, what)
        name, is_output = self._argument(node)
        if is_output:
            return ast.Name(f"{self.names.safe[name]}_{what}")
        return ast.Attribute(ast.Name(self.names.safe[name]), what)

    def visit_Name(self, node: ast.Name) -> Any:
        """Write a variable, or what it points to."""
        if node.id in self.names.aliases:
            return self.names.aliases[node.id]
        taken = {*self.names.safe.values(), *(f"{name}_shape" for name in self.names.safe.values())}
        if node.id in taken and node.id not in {self.names.safe[spec.name] for spec in self.names.kernel.attrs}:
            return ast.Name(node.id + "_")
        return ast.Name(node.id)

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """Write a shape, dtype or the inputs."""
        if node.attr in ("v", "dims"):
            return self.visit(node.value)
        if isinstance(node.value, ast.Name) and node.value.id == self.context and node.attr == "inputs":
            self.names.asks_given = True
            return ast.Name("given")
        if node.attr in ("shape", "dtype") and isinstance(node.value, ast.Name) and node.value.id in self.names.aliases:
            alias = self.names.aliases[node.value.id]
            if isinstance(alias, ast.Attribute) and alias.attr == "shape" and node.attr == "dtype":
                return ast.Attribute(alias.value, "dtype")
            if isinstance(alias, ast.Name) and alias.id.endswith("_shape") and node.attr == "dtype":
                return ast.Name(alias.id.removesuffix("_shape") + "_dtype")
            return alias
        if node.attr == "shape" and self.is_helper and isinstance(node.value, ast.Name):
            return ast.Name(node.value.id)
        if node.attr in ("shape", "dtype") and isinstance(node.value, ast.Call) and self._is_pointer(node.value):
            return self._field(node.value, node.attr)
        raise self._unknown(node)

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        """Write an attribute of the op, or an item."""
        base = node.value
        if isinstance(base, ast.Attribute) and base.attr == "attrs" and isinstance(node.slice, ast.Constant):
            return ast.Name(self.names.safe[str(node.slice.value).rpartition(":")[0]])
        return ast.Subscript(self.visit(base), self.visit(node.slice))

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        """Write an operation; a mask to 64 bits is left out."""
        is_mask = isinstance(node.op, ast.BitAnd) and isinstance(node.right, ast.Constant)
        if is_mask and isinstance(node.right, ast.Constant) and node.right.value == 0xFFFFFFFFFFFFFFFF:
            return self.visit(node.left)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Write a comparison, of dtypes by the framework's names."""
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

    def _dtype(self, node: ast.Constant) -> ast.expr:
        try:
            name = canonical_dtype(node.value)
        except Exception as error:  # a dtype that numpy lacks
            raise self._unknown(node, f"the dtype {node.value!r}") from error
        return ast.Attribute(
            ast.Name(self.names.framework), "bool_" if name == "bool" and self.names.framework == "jnp" else name
        )

    def visit_Call(self, node: ast.Call) -> Any:
        """Write a call."""
        if self._is_pointer(node):
            return self._field(node, "shape")
        function = node.func
        if isinstance(function, ast.Name):
            return self._call(function.id, node)
        if isinstance(function, ast.Attribute):
            return self._method(function, node)
        raise self._unknown(node)

    def _call(self, name: str, node: ast.Call) -> ast.expr:
        args: list[ast.expr] = [self.visit(arg) for arg in node.args]
        if name in _WRAPPERS:
            first: ast.expr = args[0] if args else ast.Tuple([])
            return first
        if name == "idx":
            return args[1]
        if name == "filled":
            return ast.BinOp(ast.List([args[1]]), ast.Mult(), args[0])
        if name in ("front", "back"):
            return ast.Subscript(args[0], ast.Constant(0 if name == "front" else -1))
        if name in LIBRARY:
            return ast.Call(ast.Name(self._library(name)), args, [])
        program = self.names.kernel.compiled.linker.program
        if name in program.units:
            return ast.Call(ast.Name(self._own(name)), args, [])
        if name in ("len", "tuple", "list", "min", "max", "abs", "bool", "int", "float", "sorted", "sum"):
            return ast.Call(ast.Name(name), args, [])
        raise self._unknown(node)

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
            return ast.Call(ast.Name(self._library("at")), [self.visit(owner), args[0]], [])
        if function.attr == "has_input":
            name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            if name in self.names.safe:
                return ast.Compare(ast.Name(self.names.safe[str(name)]), [ast.IsNot()], [ast.Constant(None)])
        if function.attr == "has_output":
            return ast.Constant(True)
        if function.attr == "input_size" and isinstance(node.args[0], ast.Constant):
            name = str(node.args[0].value)
            if self.names.kernel.is_list(name):
                return ast.Call(ast.Name("len"), [ast.Name(self.names.safe[name])], [])
            if name in self.names.safe:
                return _expression(f"int({self.names.safe[name]} is not None)")
        if function.attr == "elements":
            return ast.Call(ast.Name(self._library("elements")), [self.visit(owner)], [])
        raise self._unknown(node)

    def _library(self, name: str) -> str:
        """Take a function of the library along and return its name."""
        text, own, needed = LIBRARY[name]
        for other in needed:
            self._library(other)
        self.names.helpers[own] = text
        return own

    def _own(self, name: str) -> str:
        """Take a function of the definition file along and return its name.

        Raises:
            ExportError: it takes the context, which only the function of the slot has.
        """
        own = f"_{name.strip('_')}"
        if own in self.names.helpers:
            return own
        unit = self.names.kernel.compiled.linker.program.units[name]
        tree = ast.parse(unit.source).body
        span = unit.program.tree.span(unit.node)
        if len(tree) != 1 or not isinstance(tree[0], ast.FunctionDef):
            raise unknown_use(self.names.kernel, f"the function {name!r}, which is several", span)
        function = tree[0]
        if any(arg.arg in ("ctx", "conf") for arg in function.args.args):
            raise unknown_use(self.names.kernel, f"the function {name!r} of the context", span)
        self.names.helpers[own] = ""
        inner = Rewriter(
            Names(self.names.kernel, {}, self.names.framework, {}, self.names.helpers), unit, is_helper=True
        )
        is_counted = ast.unparse(function.body[0]) == "METER.enter()"
        function.body = function.body[is_counted:]
        body = inner.function(function)
        made = ast.FunctionDef(name=own, args=function.args, body=body, decorator_list=[])
        lines = ast.unparse(ast.fix_missing_locations(made)).splitlines()
        self.names.helpers[own] = "\n".join(part for line in lines for part in short(line)) + "\n"
        return own


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body
