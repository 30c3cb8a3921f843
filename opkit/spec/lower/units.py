"""Units: the Python functions that a definition file becomes, each with what it uses and where it can stop.

What they are made from is in ``program``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import field
from typing import Protocol

from opkit.diagnostics import Span
from opkit.record import mutable, record
from opkit.spec.findings import Findings
from opkit.spec.library.types import UNKNOWN, Type
from opkit.spec.lower.lowered import Bindings, Lowered, LowerError, Variable
from opkit.spec.lower.uses import Use, attr_use, computed_type, use_of
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Call, Declarator, Expr, Node

#: Flags of library functions whose first argument names an argument of the op.
_NAMING = frozenset({"@any", "@out", "@grad", "@bind", "@bindarg", "@in"})


@record
class Site:
    """A place that can stop a function: a CHECK, with the text of the definition file."""

    span: Span
    text: str


class Reporter(Protocol):
    """What a unit reports to: the names of its file."""

    tree: syntax.Tree
    findings: Findings

    def report(self, error: LowerError, subject: str = "") -> None:
        """Report a mistake."""


class UnitLowering(Protocol):
    """What names and calls ask of the lowering of the unit in which they stand."""

    bindings: Bindings
    lines: list[tuple[str, int]]

    def lower(self, node: Expr) -> Lowered:
        """Lower one expression."""

    def lookup(self, name: str) -> Variable | None:
        """Return the variable of a name."""

    def address(self, value: Lowered, node: Node) -> Lowered:
        """Lower ``&value``."""

    def passed(self, value: Lowered, wanted: Type, node: Node, is_copy: bool = False) -> str:
        """Return the code of an argument."""

    def argument(self, value: Lowered, wanted: Type, node: Node) -> str:
        """Return the code that passes an argument: by reference, or as a value of its own."""


class ConstantLowering(UnitLowering, Protocol):
    """What names ask of the lowering of a constant."""

    def initial(self, kind: Type, item: Declarator) -> Lowered | None:
        """Lower the initial value of a declarator."""


@mutable
class Unit:
    """One Python function made from the definition file.

    Args:
        name: its Python name.
        tree: the file it comes from.
        node: what it was made from.
        lines: its source, each line with the token it comes from.
        uses: argument and attribute names that it uses.
        calls: names of the units that it refers to.
        is_value: whether it is passed on as a function, so that what calls it is not known.
        calls_values: whether it calls functions that it was given.
    """

    name: str
    program: Reporter
    node: Node
    lines: list[tuple[str, int]] = field(default_factory=list)
    uses: list[Use] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    type: Type = UNKNOWN
    has_errors: bool = False
    subject: str = ""
    is_value: bool = False
    calls_values: bool = False

    @property
    def is_leaf(self) -> bool:
        """Whether it calls no function of the definition file and is called by name alone."""
        return not (self.calls or self.is_value or self.calls_values) and " def " not in self.source

    @property
    def source(self) -> str:
        """The Python source."""
        return "\n".join(text for text, _ in self.lines) + "\n"

    def string_literals(self) -> Iterator[str]:
        """Give every string constant of its source."""
        for node in ast.walk(ast.parse(self.source)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value

    def report(self, error: LowerError) -> None:
        """Report a mistake in this unit."""
        self.has_errors = True
        self.program.report(error, self.subject)

    def warn(self, code: str, message: str, node: Node, at_end: bool = False, help: str = "") -> None:
        """Report a mistake in what compiles."""
        program = self.program
        span = program.tree.between(node.last, node.last) if at_end else program.tree.span(node)
        program.findings.add(code, message, span, program.tree.expansion(node), help=help, subject=self.subject)

    def note_use(self, flags: frozenset[str], method: str, owner: Type, args: list[Lowered], node: Call) -> None:
        """Note the name of an argument that a call uses."""
        made = use_of(flags, method, owner, args, node)
        if made is not None:
            self.uses.append(made)
        elif "@bwtype" in flags and args:
            self.uses.append(computed_type(args[0].code, owner, node))
        elif any(flag in _NAMING for flag in flags) and args and not args[0].is_const:
            self.uses.append(Use("dynamic", "", owner.name, node, ()))

    def note_attr(self, name: Lowered, kind: str, owner: Type, node: Call) -> None:
        """Note an attribute that a call reads."""
        if name.is_const:
            self.uses.append(attr_use(name.const, kind, owner, node))

    def note_builder_attr(self, name: Lowered, node: Call) -> None:
        """Note an attribute that a backward op gets."""
        if name.is_const:
            self.uses.append(Use("bwattr", name.const, "", node.args[0], ()))
