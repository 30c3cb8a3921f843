"""Lowering of expressions: names, operators, lambdas and casts become Python with a C++ type.

What changes a variable is in ``assignments``, calls in ``calls``, statements in ``statements``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any

from opkit.errors import nearest, unknown
from opkit.spec.library.table import CONSTANTS, DATA_TYPES
from opkit.spec.library.types import (
    BOOL,
    DATA_TYPE,
    DOUBLE,
    ERROR,
    INT32,
    INT64,
    NULL,
    SIZE,
    STRING,
    UNKNOWN,
    VOID,
    Type,
    spelled,
)
from opkit.spec.lower.conversions import condition, convert, convert_number, number_literal
from opkit.spec.lower.lowered import ADD, ANY, ATOM, CMP, TERNARY, UNARY, Lowered, LowerError
from opkit.spec.lower.operators import OperatorLowering, offset
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Call, Expr, Member, Name, Node

__all__ = ["ExpressionLowering", "unknown_value"]

#: What a prefix operator gives for a constant.
_SIGNS: dict[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_LITERALS = {
    "int": INT32,
    "unsigned": Type("uint32_t"),
    "long": INT64,
    "unsigned long": SIZE,
    "float": Type("float"),
    "double": DOUBLE,
}


def unknown_value() -> Lowered:
    """Return the value of something that a finding has been made about."""
    return Lowered("None", UNKNOWN)


def any_unknown(values: Iterable[Lowered]) -> bool:
    """Return whether a finding has been made about one of them."""
    return any(value.is_unknown for value in values)


class ExpressionLowering(OperatorLowering):
    """Lower expressions of one unit."""

    def lower(self, node: Expr) -> Lowered:
        """Lower one expression."""
        self.program.spend(node)
        return _HANDLERS[type(node)](self, node)

    def arguments(self, node: Call | syntax.Construct) -> list[Lowered]:
        """Lower the arguments of a call."""
        return [self.lower(arg) for arg in node.args]

    def member(self, node: Member) -> Lowered:
        """Lower a member; the call lowering provides it."""
        raise NotImplementedError

    def call(self, node: Call) -> Lowered:
        """Lower a call; the call lowering provides it."""
        raise NotImplementedError

    def construct(self, kind: Type, args: list[Lowered], node: Node, braced: bool) -> Lowered:
        """Lower a construction; the call lowering provides it."""
        raise NotImplementedError

    def lambda_value(self, node: syntax.Lambda) -> Lowered:
        """Lower a lambda; the statement lowering provides it."""
        raise NotImplementedError

    def assign(self, node: syntax.Assign) -> Lowered:
        """Lower an assignment; the assignment lowering provides it."""
        raise NotImplementedError

    def step(self, operand: Expr, op: str, node: Node, is_prefix: bool) -> Lowered:
        """Lower ``++`` and ``--``; the assignment lowering provides it."""
        raise NotImplementedError

    # -- leaves -------------------------------------------------------------------------------

    def literal(self, node: syntax.Literal) -> Lowered:
        """Lower a literal; its value is known."""
        kind = node.kind
        if kind == "string":
            return Lowered(repr(node.value), STRING, const=node.value, is_const=True)
        if kind == "bool":
            return Lowered(str(node.value), BOOL, const=node.value, is_const=True, is_small=True)
        if kind == "null":
            return Lowered("None", NULL, const=None, is_const=True)
        if kind == "char":
            return number_literal(node.value, Type("char"))
        return number_literal(node.value, _LITERALS[kind])

    def name(self, node: Name) -> Lowered:
        """Lower a name: a variable, a template parameter, or what the file or the framework calls so."""
        first = node.parts[0]
        if len(node.parts) == 1 and first.args is None:
            variable = self.lookup(first.text)
            if variable is not None:
                return self.read(variable, node)
            bound = self.bindings.get(first.text)
            if isinstance(bound, Lowered):
                return bound
        text = self.program.plain_name(node)
        found = self.program.named_value(text, node, self.bindings)
        if found is not None:
            return found
        return self.missing_name(text, node)

    def missing_name(self, text: str, node: Node) -> Lowered:
        """Report a name that stands for nothing."""
        if text.startswith("DataType::"):
            known = {f"DataType::{name}" for name in nearest(text.removeprefix("DataType::"), DATA_TYPES, limit=1)}
        else:
            known = {name for scope in self.scopes for name in scope} | self.program.known_names() | set(CONSTANTS)
        otherwise = "declare it, or include the header that does"
        said = unknown("nothing is named", text, known, tail=" here", otherwise=otherwise)
        raise LowerError("SPEC020", said.message, node, said.help)

    def init_list(self, node: syntax.InitList) -> Lowered:
        """Lower a braced list; what it becomes depends on where it stands."""
        items = tuple(self.lower(item) for item in node.items)
        code = "[" + ", ".join(item.code for item in items) + "]"
        return Lowered(code, Type("init"), items=items)

    # -- operators ----------------------------------------------------------------------------

    def unary(self, node: syntax.Unary) -> Lowered:
        """Lower a prefix operator."""
        op = node.op
        if op == "*":
            return self.dereference(self.lower(node.operand), node)
        if op == "&":
            return self.address(self.lower(node.operand), node)
        if op in ("++", "--"):
            return self.step(node.operand, op, node, is_prefix=True)
        value = self.lower(node.operand)
        if value.is_unknown:
            return value
        if op == "!":
            held = condition(value, node)
            const = not held.const if held.is_const else None
            code, prec = (held.negated, CMP) if held.negated else (f"not {held.at(5)}", 5)
            return Lowered(code, BOOL, prec, const=const, is_const=held.is_const, negated=held.code)
        if not value.type.is_number:
            raise LowerError("SPEC023", f"'{op}' does not apply to a {spelled(value.type)}", node)
        value = self.promoted(value)
        if value.is_const:
            number = _SIGNS[op](value.const)
            return convert_number(number_literal(number, value.type), value.type)
        if op == "+":
            return value
        made = Lowered(f"{op}{value.at(UNARY)}", value.type, UNARY)
        return made if value.is_small or value.type.is_real else self.wrapped(made)

    def postfix(self, node: syntax.Postfix) -> Lowered:
        """Lower ``x++`` and ``x--``."""
        return self.step(node.operand, node.op, node, is_prefix=False)

    def binary(self, node: syntax.Binary) -> Lowered:
        """Lower a chain of binary operators, from the left."""
        op = node.op
        if op == "<<":
            return self.shift_left(node)
        if op in ("&&", "||"):
            return self.logical(node)
        chain: list[syntax.Binary] = []
        current: Expr = node
        while isinstance(current, syntax.Binary) and current.op not in ("<<", "&&", "||"):
            chain.append(current)
            current = current.left
        value = self.lower(current)
        for link in reversed(chain):
            right = self.lower(link.right)
            value = self.operate(link.op, value, right, link)
        return value

    def logical(self, node: syntax.Binary) -> Lowered:
        """Lower a chain of one of && and ||."""
        op = node.op
        operands: list[Expr] = []
        current: Expr = node
        while isinstance(current, syntax.Binary) and current.op == op:
            operands.append(current.right)
            current = current.left
        operands.append(current)
        prec, word = (4, " and ") if op == "&&" else (3, " or ")
        parts = [condition(self.lower(item), item).at(prec + 1) for item in reversed(operands)]
        return Lowered(word.join(parts), BOOL, prec)

    def shift_left(self, node: syntax.Binary) -> Lowered:
        """Lower a chain of <<: numbers shift, streams and errors take what follows."""
        operands: list[Expr] = []
        current: Expr = node
        while isinstance(current, syntax.Binary) and current.op == "<<":
            operands.append(current.right)
            current = current.left
        operands.reverse()
        base = self.lower(current)
        values = [self.streamed(item) for item in operands]
        if base.type.is_integer:
            for value, item in zip(values, operands, strict=True):
                base = self.arithmetic("<<", base, value, item)
            return base
        parts = ", ".join(value.code for value in values)
        if base.type == ERROR and base.error_parts is not None:
            return Lowered(base.code, ERROR, error_parts=(*base.error_parts, *(value.code for value in values)))
        if base.type.name == "stringstream" or base.type == ERROR:
            return Lowered(f"{base.at(ATOM)}.put({parts})", base.type)
        if base.is_unknown:
            return base
        raise LowerError("SPEC023", f"'<<' does not apply to a {spelled(base.type)}", node)

    def streamed(self, node: Expr) -> Lowered:
        """Lower what is written to a stream; ``std::endl`` is a line end."""
        if isinstance(node, Name) and node.parts[-1].text == "endl":
            return Lowered(repr("\n"), STRING)
        value = self.lower(node)
        if value.type == Type("char"):
            return Lowered(f"chr({value.code})", STRING)
        if value.type == BOOL:
            return Lowered(f"int({value.code})", INT32)
        return value

    def ternary(self, node: syntax.Ternary) -> Lowered:
        """Lower ``condition ? a : b``."""
        held = condition(self.lower(node.condition), node.condition)
        then, otherwise = self.lower(node.then), self.lower(node.otherwise)
        kind = self.common_type(then, otherwise, node)
        then, otherwise = convert(then, kind, node.then), convert(otherwise, kind, node.otherwise)
        code = f"{then.at(TERNARY + 1)} if {held.at(TERNARY + 1)} else {otherwise.at(TERNARY)}"
        small = then.is_small and otherwise.is_small
        stored = then.is_stored or otherwise.is_stored
        deref = ""
        if then.deref and otherwise.deref:
            deref = f"({then.deref} if {held.at(TERNARY + 1)} else {otherwise.deref})"
        return Lowered(code, kind, TERNARY, is_stored=stored, is_small=small, deref=deref)

    # -- indices, casts -----------------------------------------------------------------------

    def index(self, node: syntax.Index) -> Lowered:
        """Lower ``container[key]``."""
        owner = self.lower(node.object)
        key = self.lower(node.index)
        return self.element(owner, key, node)

    def element(self, owner: Lowered, key: Lowered, node: Node) -> Lowered:
        """Lower ``container[key]``."""
        kind = owner.type
        if owner.is_unknown or key.is_unknown:
            return unknown_value()
        if kind.is_vector:
            index = convert(key, INT64, node).code
            obj = owner.at(ATOM)
            target = "" if kind.element.is_object or obj.endswith(".dims") else f"{obj}[idx({obj}, {index})]"
            return Lowered(f"at({owner.code}, {index})", kind.element, ATOM, True, target, ("item", obj, index))
        if kind.is_map:
            key = convert(key, kind.args[0], node)
            new = self.construct(kind.args[1], [], node, False).code
            code = f"{owner.at(ATOM)}.get({key.code}, lambda: {new})"
            made = Lowered(code, kind.args[1], ATOM, True)
            if not kind.args[1].is_object:
                made.target = f"{owner.at(ATOM)}[{key.code}]"
                made.place = ("map", owner.at(ATOM), key.code)
            return made
        if kind == STRING:
            return Lowered(f"char_at({owner.code}, {convert(key, INT64, node).code})", Type("char"))
        if kind.name == "iter":
            code = f"({owner.at(ADD)} + {offset(key).at(ADD + 1)}).v"
            return Lowered(code, kind.element, ATOM, True, code)
        raise LowerError("SPEC023", f"a {spelled(kind)} has no elements", node)

    def cast(self, node: syntax.Cast) -> Lowered:
        """Lower a cast."""
        wanted = self.program.type_of(node.type, self.bindings)
        value = self.lower(node.operand)
        if value.is_unknown:
            return value
        if wanted.is_number and value.type.is_number:
            return convert_number(value, wanted)
        if wanted == VOID:
            return Lowered(value.code, VOID, value.prec)
        if wanted == DATA_TYPE and value.type.is_integer:
            return Lowered(f"dtype_of({value.code})", DATA_TYPE)
        if wanted.is_integer and value.type == DATA_TYPE:
            return Lowered(f"dtype_number({value.code})", wanted)
        if wanted.name == value.type.name == "ptr" or wanted == value.type:
            return value
        return self.construct(wanted, [value], node, False)

    def construction(self, node: syntax.Construct) -> Lowered:
        """Lower ``Type{args}``."""
        kind = self.program.type_of(node.type, self.bindings)
        return self.construct(kind, self.arguments(node), node, node.braced)


_HANDLERS: dict[type, Callable[[ExpressionLowering, Any], Lowered]] = {
    syntax.Literal: ExpressionLowering.literal,
    Name: ExpressionLowering.name,
    syntax.InitList: ExpressionLowering.init_list,
    syntax.Unary: ExpressionLowering.unary,
    syntax.Postfix: ExpressionLowering.postfix,
    syntax.Binary: ExpressionLowering.binary,
    syntax.Ternary: ExpressionLowering.ternary,
    syntax.Assign: lambda self, node: self.assign(node),
    syntax.Index: ExpressionLowering.index,
    syntax.Cast: ExpressionLowering.cast,
    syntax.Construct: ExpressionLowering.construction,
    Call: lambda self, node: self.call(node),
    Member: lambda self, node: self.member(node),
    syntax.Lambda: lambda self, node: self.lambda_value(node),
}
__all__ += ["ANY"]
