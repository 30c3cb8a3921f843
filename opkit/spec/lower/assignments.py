"""Lowering of assignments: ``=``, ``+=`` and similar ones, ``++`` and ``--``, inside an expression or as a statement.

What is computed is in ``expressions``; declarations, which give a variable its first value, in ``declarations``.
"""

from __future__ import annotations

from opkit.spec.library.types import INT32, Type, spelled
from opkit.spec.lower.conversions import convert, convert_number, copied, number_literal
from opkit.spec.lower.expressions import ExpressionLowering
from opkit.spec.lower.lowered import ATOM, Lowered, LowerError
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Expr, Name, Node


class AssignmentLowering(ExpressionLowering):
    """Lower what changes a variable."""

    def assign(self, node: syntax.Assign) -> Lowered:
        """Lower an assignment inside an expression."""
        self.assign_statement(node)
        return self.lower(node.left)

    def assign_statement(self, node: syntax.Assign) -> None:
        """Write an assignment as a statement."""
        right = self.lower(node.right)
        left = self.lower_target(node.left)
        if left.is_unknown:
            return
        if node.op != "=":
            self.compound(node, left, right)
            return
        right = convert(right, left.type, node.right)
        self.note_assignment(node.left)
        if left.type.is_object:
            self.replace(left, right, node)
            return
        self.store_check(left, node.left)
        self.emit(f"{left.target} = {copied(right)}", node)

    def lower_target(self, node: Expr) -> Lowered:
        """Lower the left side of an assignment; it is written, not read."""
        if isinstance(node, Name) and len(node.parts) == 1:
            variable = self.lookup(node.parts[0].text)
            if variable is not None:
                seen = variable.first_read
                value = self.read(variable, node)
                variable.first_read = seen
                return value
        return self.lower(node)

    def replace(self, left: Lowered, right: Lowered, node: Node) -> None:
        """Write the assignment of one object to another: the object stays, its contents change."""
        name, code = left.type.name, left.at(ATOM)
        if left.is_read_only or code.endswith(".dims"):
            raise LowerError("SPEC027", "this object is const and cannot be changed", node)
        if name in ("Shape", "ShapeView"):
            other = right.at(ATOM)
            if other.startswith("Shape(") and other.endswith(".dims)"):
                other = other[6:-1]
                self.emit(f"{code}.dims = {other}", node)
            else:
                self.emit(f"{code}.dims = {other}.dims", node)
        elif name in ("vector", "fixed_vector"):
            counted = right.code if left.type.name == "fixed_vector" else f"METER.whole({right.code})"
            self.emit(f"{code}[:] = {copied(right) if left.type.element.is_object else counted}", node)
        elif name in ("SbpSignature", "SbpSignatureList", "stringstream"):
            raise LowerError("SPEC012", f"a {spelled(left.type)} cannot be assigned in definitions", node)
        else:
            self.emit(f"{code}.assign({right.code})", node)

    def compound(self, node: syntax.Assign, left: Lowered, right: Lowered) -> None:
        """Write ``a += b`` and similar assignments."""
        op = node.op[:-1]
        self.store_check(left, node.left)
        made = self.operate(op, left, right, node) if op != "<<" else self.arithmetic(op, left, right, node)
        made = convert(made, left.type, node)
        self.note_assignment(node.left)
        self.emit(f"{left.target} = {made.code}", node)

    def store_check(self, value: Lowered, node: Node) -> None:
        """Refuse to store into what cannot be stored into."""
        if value.is_read_only:
            raise LowerError("SPEC027", "this is const and cannot be changed", node)
        if not value.target:
            raise LowerError("SPEC023", "this cannot be assigned to", node)

    def note_assignment(self, node: Expr) -> None:
        """Note that the variable of a name is assigned to."""
        if isinstance(node, Name) and len(node.parts) == 1:
            variable = self.lookup(node.parts[0].text)
            if variable is not None:
                self.assigned(variable)

    def step(self, operand: Expr, op: str, node: Node, is_prefix: bool) -> Lowered:
        """Lower ``++x`` and similar operators where their value is used."""
        value = self.lower(operand)
        if value.is_unknown:
            return value
        if value.type.name == "iter":
            value.type = Type("iter", value.type.args)
        elif not value.type.is_number:
            raise LowerError("SPEC023", f"'{op}' does not apply to a {spelled(value.type)}", node)
        self.store_check(value, node)
        sign = op[0]
        if value.target.isidentifier():
            self.note_assignment(operand)
            made = self.arithmetic(sign, value, number_literal(1, INT32), node) if value.type.is_number else None
            new = convert_number(made, value.type).code if made is not None else f"{value.code} {sign} 1"
            if is_prefix:
                return Lowered(f"({value.target} := {new})", value.type)
            self.counter += 1
            old = self.fresh(f"_t{self.counter}")
            return Lowered(f"(({old} := {value.code}), ({value.target} := {new}))[0]", value.type)
        old = "" if is_prefix else self.temporary(value.code, node)
        self.emit(f"{value.target} = {self.stepped(value, sign, node)}", node)
        return value if is_prefix else Lowered(old, value.type)

    def stepped(self, value: Lowered, sign: str, node: Node) -> str:
        """Return the code of the next value."""
        if not value.type.is_number:
            return f"{value.code} {sign} 1"
        return convert_number(self.arithmetic(sign, value, number_literal(1, INT32), node), value.type).code
