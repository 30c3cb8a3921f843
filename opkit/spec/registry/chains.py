"""Chains: what reading a registration needs, whether it is of an op or of a gradient.

Which macros and setters there are is in ``registrations``.

Entries: what was read of one registration, before it becomes an op or a gradient.

Reading them is in ``registrations``.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any, TypeVar

from opkit.record import mutable
from opkit.spec.findings import Findings
from opkit.spec.library.types import STRING, UNKNOWN, Type, TypeTooLargeError
from opkit.spec.lower.conversions import convert
from opkit.spec.lower.link import Linker
from opkit.spec.lower.lowered import Lowered, LowerError
from opkit.spec.lower.program import SpecProgram
from opkit.spec.lower.statements import StatementLowering
from opkit.spec.lower.units import Unit
from opkit.spec.parse.syntax import Call, Expr, Member, Node
from opkit.spec.registry.schema import ArgSpec, AttrSpec


@mutable
class OpEntry:
    """An op registration as read: specs, slots with their units, and the syntax behind them."""

    name: str
    node: Node
    name_node: Node
    is_cpu_only: bool = False
    has_no_grad: bool = False
    inputs: list[ArgSpec] = field(default_factory=list)
    outputs: list[ArgSpec] = field(default_factory=list)
    attrs: dict[str, AttrSpec] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    setters: dict[str, Node] = field(default_factory=dict)
    has_errors: bool = False


@mutable
class GradEntry:
    """A gradient registration as read."""

    name: str
    node: Node
    name_node: Node
    unit: Unit | None = None
    is_new_style: bool = False
    has_errors: bool = False


Entry = TypeVar("Entry", OpEntry, GradEntry)


@mutable
class Link:
    """One ``.Setter(args)`` of a chain."""

    name: str
    node: Call
    member: Member


class ChainReader:
    """Read chains of setters, and report what is wrong with them."""

    def __init__(self, program: SpecProgram, linker: Linker, findings: Findings) -> None:
        self.program = program
        self.linker = linker
        self.findings = findings
        self.ops: list[OpEntry] = []
        self.grads: list[GradEntry] = []

    def add(self, code: str, message: str, node: Node, *notes: Any, help: str = "", subject: str = "") -> None:
        """Report a finding."""
        tree = self.program.tree
        self.findings.add(code, message, tree.span(node), tree.expansion(node), *notes, help=help, subject=subject)

    def constant_name(self, call: Call, what: str) -> tuple[str, Node] | None:
        """Return the constant name of an op type that a macro is given, and its place; None where it has a mistake."""
        if len(call.args) != 1:
            self.add("SPEC036", f"{what} takes the name of an op type", call)
            return None
        value = self.lower(call.args[0], STRING)
        if value is None:
            return None
        if not value.is_const:
            self.add(
                "SPEC036", f"{what} needs a constant string", call.args[0], help='write the name in quotes: "my_op"'
            )
            return None
        if not value.const:
            self.add("SPEC036", "an op type needs a name", call.args[0])
            return None
        return str(value.const), call.args[0]

    def lower(self, node: Expr, wanted: Type, subject: str = "") -> Lowered | None:
        """Lower an expression at file scope; None where it has a mistake."""
        unit = self.program.scratch(node)
        unit.subject = subject
        lowering = StatementLowering(self.program, unit, {})
        try:
            value = lowering.lower(node)
            if value.is_unknown:
                return None
            value = convert(value, wanted, node) if wanted is not UNKNOWN else value
            if lowering.lines:
                raise LowerError("SPEC036", "a registration needs a constant here", node)
            return value
        except LowerError as error:
            self.program.report(error, subject)
        except TypeTooLargeError as too_large:
            self.program.report(LowerError("SPEC007", f"this makes {too_large}", node), subject)
        except RecursionError:
            self.program.report(LowerError("SPEC011", "this is nested too deeply", node), subject)
        return None

    def enter(self, entries: list[Entry], entry: Entry, before: int, what: str, help: str = "") -> None:
        """Note whether a registration has errors, and add it to those of its kind, unless it is there already.

        Args:
            entries: the registrations of its kind.
            entry: what was read.
            before: how many findings there were before it was read.
            what: how a message calls it.
            help: for one that is registered twice.
        """
        entry.has_errors = any(item.is_error for item in self.findings.items[before:])
        first = next((other for other in entries if other.name == entry.name), None)
        if first is None:
            entries.append(entry)
            return
        earlier = self.program.note("first registered here", first.name_node)
        message = f"{what} is registered twice"
        self.add("SPEC031", message, entry.name_node, earlier, help=help, subject=entry.name)


def python_name(name: str) -> str:
    """Return a name as part of a Python identifier."""
    made = "".join(char if char.isalnum() and char.isascii() else "_" for char in name)
    return made if made and not made[0].isdigit() else f"op_{made}"
