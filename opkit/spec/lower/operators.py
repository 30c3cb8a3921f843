"""Lowering of operators: what C++'s operators give for two values, whose types are known.

Syntax is not looked at here; it is in ``lower.expressions``.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from opkit.spec.library.types import (
    BOOL,
    DATA_TYPE,
    DIM_VECTOR,
    DOUBLE,
    INT32,
    INT64,
    INT_INFO,
    NULL,
    STRING,
    UNKNOWN,
    VOID,
    Type,
    common_integer,
    pointer,
    spelled,
)
from opkit.spec.lower.conversions import convert, convert_number, fit, number_literal
from opkit.spec.lower.instances import Instances
from opkit.spec.lower.lowered import ADD, ATOM, CMP, MUL, Bindings, Lowered, LowerError
from opkit.spec.lower.units import Unit
from opkit.spec.lower.writer import Writer
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Node
from opkit.spec.runtime.arithmetic import idiv, irem

_NEGATED = {"==": "!=", "!=": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_COMPARE = frozenset(_NEGATED)
#: What an operator gives for two constants.
_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": idiv,
    "%": irem,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
#: Types whose values can be large, so that comparing them counts; a constant is as short as it stands in the definition
#: file.
_COUNTED = frozenset({"string", "vector", "map", "ordered_map", "set", "ordered_set"})
_PYTHON_PREC = {"|": 8, "^": 9, "&": 10, "<<": 11, ">>": 11, "+": ADD, "-": ADD, "*": MUL}


class OperatorLowering(Writer):
    """Operators on values; ``bindings`` are the template arguments that a unit is lowered with."""

    def __init__(self, program: Instances, unit: Unit, bindings: Bindings) -> None:
        super().__init__()
        self.program = program
        self.unit = unit
        self.bindings = bindings
        self.result: Type = VOID
        self.loops: list[Callable[[], None]] = []
        #: statements that call a builder of backward ops, by the builder's name
        self.chains: dict[str, list[syntax.ExprStatement]] = {}

    def promoted(self, value: Lowered) -> Lowered:
        """Apply the integer promotions."""
        if value.type.is_integer and INT_INFO[value.type.name][0] < 32:
            if value.is_const or value.type == BOOL:
                return convert_number(value, INT32)
            return Lowered(value.code, INT32, value.prec, is_small=value.is_small)
        return value

    def wrapped(self, value: Lowered) -> Lowered:
        """Keep an integer result in its type: it wraps around."""
        bits, signed = INT_INFO[value.type.name]
        if signed:
            return Lowered(f"to_i{bits}({value.code})", value.type)
        return Lowered(f"{value.at(11)} & {(1 << bits) - 1:#x}", value.type, 10)

    def dereference(self, value: Lowered, node: Node) -> Lowered:
        """Lower ``*pointer`` and ``*iterator``."""
        kind = value.type
        if value.is_unknown:
            return value
        if kind.name == "iter":
            code = f"{value.at(ATOM)}.v"
            return Lowered(code, kind.element, ATOM, True, code)
        if kind.name == "mapiter":
            return Lowered(f"{value.at(ATOM)}.v", Type("pair", kind.args), ATOM, True)
        if kind.name != "ptr":
            raise LowerError("SPEC023", f"'*' needs a pointer, not a {spelled(kind)}", node)
        target = kind.element
        if value.deref:
            return Lowered(value.deref, target, ATOM, True, value.deref, _field_place(value.deref))
        if target.is_object or not self.is_celled(target):
            return Lowered(value.at(ATOM), target, ATOM, True)
        code = f"{value.at(ATOM)}.v"
        return Lowered(code, target, ATOM, True, code, ("cell", value.code))

    def is_celled(self, kind: Type) -> bool:
        """Return whether pointers to a type point at a cell instead of being the object itself."""
        return kind.is_number or kind.name in ("string", "DataType", "pair", "OpArg", "ptr", "function")

    def address(self, value: Lowered, node: Node) -> Lowered:
        """Lower ``&value``."""
        if value.is_unknown or value.functions or value.type.name == "function":
            return value
        if value.type.is_object or not self.is_celled(value.type):
            return Lowered(value.code, pointer(value.type), value.prec)
        place = value.place
        if place and place[0] == "cell":
            return Lowered(place[1], pointer(value.type), deref=value.code)
        if place and place[0] == "item":
            return Lowered(f"ItemPointer({place[1]}, {place[2]})", pointer(value.type))
        if place and place[0] == "field":
            return Lowered(f"field_pointer({place[1]}, {place[2]!r})", pointer(value.type), deref=value.code)
        raise LowerError("SPEC023", "'&' needs a variable or an element", node)

    def operate(self, op: str, left: Lowered, right: Lowered, node: Node) -> Lowered:
        """Lower one binary operator other than <<, && and ||."""
        if left.is_unknown or right.is_unknown:
            return Lowered("None", BOOL if op in _COMPARE else UNKNOWN)
        if op == ",":
            return Lowered(f"({left.code}, {right.code})[1]", right.type)
        if left.type.is_number and right.type.is_number:
            return self.compare(op, left, right) if op in _COMPARE else self.arithmetic(op, left, right, node)
        if op in _COMPARE:
            return self.compare_objects(op, left, right, node)
        if op == "+" and STRING in (left.type, right.type):
            return self.join_strings(left, right, node)
        if op in ("+", "-") and left.type.name == "iter":
            if right.type.name == "iter":
                return Lowered(f"{left.at(ADD)} - {right.at(ADD + 1)}", INT64, ADD)
            if right.type.is_integer:
                return Lowered(f"{left.at(ADD)} {op} {offset(right).at(ADD + 1)}", left.type, ADD)
        if op == "+" and left.type.is_integer and right.type.name == "iter":
            return Lowered(f"{right.at(ADD)} + {offset(left).at(ADD + 1)}", right.type, ADD)
        raise LowerError(
            "SPEC023", f"'{op}' does not apply to a {spelled(left.type)} and a {spelled(right.type)}", node
        )

    def join_strings(self, left: Lowered, right: Lowered, node: Node) -> Lowered:
        """Lower ``+`` of strings and characters."""
        for side in (left, right):
            if side.type == Type("char"):
                side.code, side.type = f"chr({side.code})", STRING
            elif side.type != STRING:
                raise LowerError(
                    "SPEC023", f"'+' does not join a string and a {spelled(side.type)}", node, "use std::to_string"
                )
        if left.is_const and right.is_const:
            text = left.const + right.const
            return Lowered(repr(text), STRING, const=text, is_const=True)
        return Lowered(f"cat({left.code}, {right.code})", STRING)

    def arithmetic(self, op: str, left: Lowered, right: Lowered, node: Node) -> Lowered:
        """Lower arithmetic on two numbers, with C++'s conversions."""
        if left.type.is_real or right.type.is_real:
            return self.real_arithmetic(op, left, right, node)
        if op in ("<<", ">>"):
            return self.shift(op, self.promoted(left), right)
        kind = common_integer(left.type, right.type)
        left, right = convert_number(left, kind), convert_number(right, kind)
        if left.is_const and right.is_const and not (op in "/%" and right.const == 0):
            return self.folded(op, left, right, kind)
        if op in ("/", "%"):
            return self.division(op, left, right, kind, node)
        prec = _PYTHON_PREC[op]
        made = Lowered(f"{left.at(prec)} {op} {right.at(prec + 1)}", kind, prec)
        if op in "&|^" or (left.is_small and right.is_small and (op == "+" or (op == "-" and INT_INFO[kind.name][1]))):
            return made
        if left.is_small and right.is_small and op == "*" and INT_INFO[kind.name][0] == 64:
            return made
        return self.wrapped(made)

    def shift(self, op: str, left: Lowered, right: Lowered) -> Lowered:
        """Lower ``<<`` and ``>>``."""
        bits = INT_INFO[left.type.name][0]
        if right.is_const and 0 <= right.const < bits:
            made = Lowered(f"{left.at(11)} {op} {right.at(12)}", left.type, 11)
        else:
            name = "shift_left" if op == "<<" else "shift_right"
            made = Lowered(f"{name}({left.code}, {right.code}, {bits})", left.type)
        return self.wrapped(made) if op == "<<" else made

    def division(self, op: str, left: Lowered, right: Lowered, kind: Type, node: Node) -> Lowered:
        """Lower / and %, which truncate towards zero."""
        if right.is_const and right.const == 0:
            self.unit.warn("SPEC047", "this divides by zero", node)
        if right.is_const and right.const > 0 and (left.is_small or not INT_INFO[kind.name][1]):
            python = "//" if op == "/" else "%"
            return Lowered(f"{left.at(MUL)} {python} {right.at(MUL + 1)}", kind, MUL, is_small=left.is_small)
        name = "idiv" if op == "/" else "irem"
        return Lowered(f"{name}({left.code}, {right.code})", kind)

    def folded(self, op: str, left: Lowered, right: Lowered, kind: Type) -> Lowered:
        """Return the result of arithmetic on constants."""
        return convert_number(number_literal(_OPERATIONS[op](left.const, right.const), INT64), kind)

    def real_arithmetic(self, op: str, left: Lowered, right: Lowered, node: Node) -> Lowered:
        """Lower arithmetic in which a float or double takes part."""
        if op not in ("+", "-", "*", "/"):
            raise LowerError("SPEC023", f"'{op}' does not apply to floating-point numbers", node)
        kind = DOUBLE if DOUBLE in (left.type, right.type) else Type("float")
        left, right = convert_number(left, kind), convert_number(right, kind)
        if op == "/":
            made = Lowered(f"fdiv({left.code}, {right.code})", kind)
        else:
            prec = _PYTHON_PREC[op]
            made = Lowered(f"{left.at(prec)} {op} {right.at(prec + 1)}", kind, prec)
        return made if kind == DOUBLE else Lowered(f"f32({made.code})", kind)

    def compare(self, op: str, left: Lowered, right: Lowered) -> Lowered:
        """Lower a comparison of numbers; signed and unsigned compare as unsigned, as in C++."""
        if left.type.is_integer and right.type.is_integer:
            kind = common_integer(left.type, right.type)
            left, right = convert_number(left, kind), convert_number(right, kind)
        elif left.type.is_integer or right.type.is_integer:
            kind = left.type if left.type.is_real else right.type
            left, right = convert_number(left, kind), convert_number(right, kind)
        made = Lowered(f"{left.at(CMP + 1)} {op} {right.at(CMP + 1)}", BOOL, CMP)
        if left.type.is_integer:
            made.negated = f"{left.at(CMP + 1)} {_NEGATED[op]} {right.at(CMP + 1)}"
        if left.is_const and right.is_const:
            made.is_const, made.const = True, bool(_OPERATIONS[op](left.const, right.const))
        elif _never_holds(op, left, right):
            made.is_const, made.const = True, False
        return made

    def compare_objects(self, op: str, left: Lowered, right: Lowered, node: Node) -> Lowered:
        """Lower a comparison of strings, shapes, dtypes, pointers and containers."""
        if "null" in (left.type.name, right.type.name):
            value = right if left.type == NULL else left
            if value.type.name not in ("ptr", "function", "null"):
                raise LowerError("SPEC023", f"a {spelled(value.type)} cannot be compared with nullptr", node)
            word = "is" if op == "==" else "is not"
            shown, other = value.at(CMP + 1), "is not" if op == "==" else "is"
            return Lowered(f"{shown} {word} None", BOOL, CMP, negated=f"{shown} {other} None")
        if right.items is not None and left.type != UNKNOWN:
            right = convert(right, left.type, node)
        if (left.type == DATA_TYPE and right.type.is_integer) or (right.type == DATA_TYPE and left.type.is_integer):
            raise LowerError("SPEC023", "a DataType is compared with a number", node, "use its name, DataType::k...")
        if fit(left, right.type, node) is None and fit(right, left.type, node) is None:
            raise LowerError("SPEC023", f"a {spelled(left.type)} cannot be compared with a {spelled(right.type)}", node)
        if op not in ("==", "!=") and left.type.name in ("Shape", "TensorDesc", "map", "set"):
            raise LowerError("SPEC023", f"'{op}' does not apply to a {spelled(left.type)}", node)
        if left.type == DIM_VECTOR:
            left, right = Lowered(f"list({left.code})", left.type), Lowered(f"list({right.code})", left.type)
        if left.type.name == "ptr" and op in ("==", "!="):
            word = "is" if op == "==" else "is not"
            return Lowered(f"{left.at(CMP + 1)} {word} {right.at(CMP + 1)}", BOOL, CMP)
        if not (left.is_const or right.is_const) and left.type.name in _COUNTED:
            left = Lowered(f"METER.whole({left.code})", left.type)
        shown, other = left.at(CMP + 1), right.at(CMP + 1)
        made = Lowered(f"{shown} {op} {other}", BOOL, CMP, negated=f"{shown} {_NEGATED[op]} {other}")
        if left.is_const and right.is_const and op in ("==", "!="):
            made.is_const, made.const = True, (left.const == right.const) == (op == "==")
        return made

    def common_type(self, a: Lowered, b: Lowered, node: Node) -> Type:
        """Return the type of ``? :``."""
        if a.type == b.type or b.is_unknown:
            return a.type
        if a.is_unknown:
            return b.type
        if a.type.is_integer and b.type.is_integer:
            return common_integer(a.type, b.type)
        if a.type.is_number and b.type.is_number:
            return DOUBLE if DOUBLE in (a.type, b.type) else Type("float")
        for one, other in ((a, b), (b, a)):
            if fit(one, other.type, node) is not None:
                return other.type
        raise LowerError("SPEC023", f"'?:' has a {spelled(a.type)} and a {spelled(b.type)}", node)


def _field_place(code: str) -> tuple[str, ...]:
    owner, _, field = code.rpartition(".")
    return ("field", owner, field) if owner and field.isidentifier() else ()


def _never_holds(op: str, left: Lowered, right: Lowered) -> bool:
    """Return whether a comparison with a size can never hold: a size is never below zero."""
    if right.is_const and left.is_small:
        return (op == "<" and right.const <= 0) or (op in ("<=", "==") and right.const < 0)
    if left.is_const and right.is_small:
        return (op == ">" and left.const <= 0) or (op in (">=", "==") and left.const < 0)
    return False


def offset(count: Lowered) -> Lowered:
    """Return how far an iterator moves: a difference of sizes that wraps below 0 moves it back, as in C++."""
    return convert_number(count, INT64)
