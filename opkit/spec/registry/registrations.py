"""Registrations: the chains of setters at file scope become ops and gradients.

Registrations of ops: their arguments, attributes and functions, as the chain of setters gives them.

What the functions do is lowered by ``program``; checks of names are in ``check``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opkit.diagnostics import Note
from opkit.errors import nearest, unknown
from opkit.spec.findings import Findings
from opkit.spec.library.registration_names import (
    ARGUMENTS,
    ATTR_ENUM,
    FLAGS,
    GRAD_MACROS,
    GRAD_SETTERS,
    IGNORED_SETTERS,
    KERNEL_MACROS,
    OP_MACROS,
    QUIET_MACROS,
    SETTERS,
    ZEROS,
)
from opkit.spec.library.types import ATTR_TYPES, INT32, STRING, UNKNOWN, spelled
from opkit.spec.lower.link import Linker
from opkit.spec.lower.lowered import Lowered, LowerError
from opkit.spec.lower.members import ATTR_KINDS
from opkit.spec.lower.names import FUNCTION_TYPES
from opkit.spec.lower.program import SpecProgram
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Call, Expr, Member, Name, Node, TypeName
from opkit.spec.registry.chains import ChainReader, GradEntry, Link, OpEntry, python_name
from opkit.spec.registry.schema import ArgSpec, AttrSpec, plain_value
from opkit.spec.runtime.gradient_contexts import MOST_BLOBS


class OpReader(ChainReader):
    """Read registrations of ops."""

    def op(self, macro: str, call: Call, links: list[Link], item: Node) -> None:
        """Read the registration of an op."""
        found = self.constant_name(call, macro)
        if found is None:
            return
        cpu, no_grad = OP_MACROS[macro]
        entry = OpEntry(found[0], item, found[1], cpu, no_grad)
        before = len(self.findings.items)
        for link in links:
            self.op_link(entry, link)
        if "tensor_desc" not in entry.setters and not self.is_misspelt("SetTensorDescInferFn", links):
            self.add(
                "SPEC033",
                f"op {entry.name!r} has no shape inference function",
                entry.name_node,
                help="add .SetTensorDescInferFn(...)",
                subject=entry.name,
            )
        self.enter(self.ops, entry, before, f"op {entry.name!r}", help="rename one of them")

    def op_link(self, entry: OpEntry, link: Link) -> None:
        """Read one call of the chain."""
        name = link.name
        if name in ARGUMENTS:
            self.argument(entry, link)
        elif name == "Attr":
            self.attr(entry, link)
        elif name in SETTERS:
            self.setter(entry, link)
        elif name in FLAGS:
            if name == "SupportCpuOnly":
                entry.is_cpu_only = True
            entry.has_no_grad |= name == "NoGrad"
        elif name not in IGNORED_SETTERS:
            said = unknown("a registration has no method", name, [*ARGUMENTS, "Attr", *SETTERS, *FLAGS])
            self.add("SPEC030", said.message, link.member.name, help=said.help, subject=entry.name)
            # Read as what it nearly says, so that what it declares is not reported as missing in every other place.
            meant = nearest(name, [*ARGUMENTS, "Attr", *SETTERS, *FLAGS], 1)
            if meant and (meant[0] in ARGUMENTS or meant[0] == "Attr"):
                self.op_link(entry, replace(link, name=meant[0]))

    def is_misspelt(self, method: str, links: Sequence[Link]) -> bool:
        """Whether one of the calls is not a method, and this one is the nearest."""
        known = (*ARGUMENTS, "Attr", *SETTERS, *FLAGS)
        return any(link.name not in known and method in nearest(link.name, known) for link in links)

    def argument(self, entry: OpEntry, link: Link) -> None:
        """Read an input or output."""
        side, optional, variadic = ARGUMENTS[link.name]
        args = link.node.args
        if not 1 <= len(args) <= 2 or (variadic and len(args) != 2):
            wanted = "a name and a number" if variadic else "a name"
            self.add("SPEC022", f".{link.name} takes {wanted}, {len(args)} given", link.node, subject=entry.name)
            return
        value = self.lower(args[0], STRING, entry.name)
        count: Lowered | None = Lowered("1", INT32, const=1, is_const=True)
        if len(args) == 2:
            count = self.lower(args[1], INT32, entry.name)
        if value is None or count is None:
            return
        if not value.is_const or not count.is_const:
            self.add("SPEC036", f".{link.name} needs constants", link.node, subject=entry.name)
            return
        if not 0 <= count.const <= MOST_BLOBS:
            self.add(
                "SPEC036",
                f".{link.name} takes 0 to {MOST_BLOBS:,} blobs, not {count.const:,}",
                args[1],
                subject=entry.name,
            )
            return
        name = str(value.const)
        if self.is_taken(entry, name, args[0]):
            return
        spec = ArgSpec(name, optional, int(count.const), variadic, self.program.tree.span(args[0]))
        (entry.inputs if side == "in" else entry.outputs).append(spec)

    def is_taken(self, entry: OpEntry, name: str, node: Node) -> bool:
        """Report a name that the op has already."""
        specs: list[ArgSpec | AttrSpec] = [*entry.inputs, *entry.outputs, *entry.attrs.values()]
        for spec in specs:
            if spec.name == name:
                note = Note("first declared here", spec.span)
                self.add(
                    "SPEC032",
                    f"op {entry.name!r} declares {name!r} twice",
                    node,
                    note,
                    subject=entry.name,
                    help="inputs, outputs and attributes share their names",
                )
                return True
        return False

    def attr(self, entry: OpEntry, link: Link) -> None:
        """Read an attribute."""
        args = link.node.args
        given = link.member.name.args
        if not args:
            self.add("SPEC022", ".Attr takes a name", link.node, subject=entry.name)
            return
        value = self.lower(args[0], STRING, entry.name)
        if value is None:
            return
        if not value.is_const:
            self.add("SPEC036", ".Attr needs a constant name", args[0], subject=entry.name)
            return
        name = str(value.const)
        rest = list(args[1:])
        kind = self.attr_kind(entry, link, given, rest)
        if kind is None or self.is_taken(entry, name, args[0]):
            return
        default = self.attr_default(entry, kind, rest, link)
        # An attribute with a wrong default still counts as declared, so that its uses are not reported too.
        value_of = default[0] if default is not None else ZEROS[kind]
        entry.attrs[name] = AttrSpec(name, kind, value_of, self.program.tree.span(args[0]))

    def attr_kind(
        self, entry: OpEntry, link: Link, given: tuple[TypeName | Expr, ...] | None, rest: list[Expr]
    ) -> str | None:
        """Return the attribute type that ``Attr<T>``, an AttrType or the default gives."""
        enumerated = rest[0] if rest else None
        if isinstance(enumerated, Name) and enumerated.parts[-1].text.startswith("kAt"):
            del rest[0]
            kind = ATTR_ENUM.get(enumerated.parts[-1].text)
            if kind is None:
                self.add("SPEC034", f"no AttrType is named {enumerated.text!r}", enumerated, subject=entry.name)
            return kind
        try:
            wanted = self.program.template_type_argument(given, {}) if given else UNKNOWN
        except LowerError as error:
            error.code = "SPEC034"
            self.program.report(error, entry.name)
            return None
        if wanted is UNKNOWN and rest:
            value = self.lower(rest[0], UNKNOWN, entry.name)
            if value is None:
                return None
            wanted = value.type
        kind = ATTR_KINDS.get(wanted)
        if kind is None:
            shown = spelled(wanted) if wanted is not UNKNOWN else "this"
            message = f"no attribute has the type {shown}" if given else ".Attr needs the attribute's type"
            self.add(
                "SPEC034",
                message,
                link.member.name,
                subject=entry.name,
                help="write .Attr<T> with a number type, bool, std::string, Shape, DataType or a vector of them",
            )
        return kind

    def attr_default(self, entry: OpEntry, kind: str, rest: list[Expr], link: Link) -> tuple[Any] | None:
        """Return the default as a plain value, in a tuple; None where it has a mistake."""
        wanted = ATTR_TYPES[kind]
        if not rest:
            return (ZEROS[kind],)
        if len(rest) > 1:
            self.add(
                "SPEC022",
                f".Attr takes a name and a default, {len(rest) + 1} arguments given",
                link.node,
                subject=entry.name,
            )
            return None
        before = len(self.findings.items)
        value = self.lower(rest[0], wanted, entry.name)
        if value is None:
            for number in range(before, len(self.findings.items)):
                item = self.findings.items[number]
                if item.code == "SPEC023":
                    message = f"the default does not fit an attribute of type {kind}: {item.message}"
                    self.findings.items[number] = type(item)(
                        "SPEC035", item.severity, message, item.span, item.notes, item.help, item.subject
                    )
            return None
        try:
            return (plain_value(kind, self.linker.evaluate(value.code)),)
        except Exception as error:
            self.add("SPEC036", f"the default is not a constant: {error}", rest[0], subject=entry.name)
            return None

    def setter(self, entry: OpEntry, link: Link) -> None:
        """Read the setter of a function."""
        slots, kind = SETTERS[link.name]
        if len(link.node.args) != 1:
            self.add(
                "SPEC022",
                f".{link.name} takes one function, {len(link.node.args)} given",
                link.node,
                subject=entry.name,
            )
            return
        before = len(self.findings.items)
        unit = self.program.slot_unit(
            f"{python_name(entry.name)}__{slots[0]}", link.node.args[0], FUNCTION_TYPES[kind], entry.name
        )
        if unit is None and len(self.findings.items) == before:
            return
        earlier = entry.setters.get(link.name)
        if earlier is not None:
            self.add(
                "SPEC038",
                f".{link.name} is called twice, and the last call wins",
                link.member.name,
                self.program.note("first called here", earlier),
                subject=entry.name,
                help="remove one of them",
            )
        entry.setters[link.name] = link.member.name
        for slot in slots:
            entry.setters[slot] = link.member.name
            if unit is not None:
                entry.units[slot] = unit


class _Reader(OpReader):
    def read(self, item: syntax.ExprStatement) -> None:
        links: list[Link] = []
        current = item.value
        while isinstance(current, Call) and isinstance(current.function, Member):
            links.append(Link(current.function.name.text, current, current.function))
            current = current.function.object
        links.reverse()
        if not (isinstance(current, Call) and isinstance(current.function, Name)):
            self.add(
                "SPEC010", "this does nothing at file scope", item, help="registrations start with REGISTER_USER_OP"
            )
            return
        macro = current.function.parts[-1].text
        if macro in OP_MACROS:
            self.op(macro, current, links, item)
        elif macro in GRAD_MACROS:
            self.grad(current, links, item)
        elif macro in KERNEL_MACROS:
            self.add(
                "SPEC050",
                "this C++ kernel is not used: opkit runs the function of NAME_py_kernel.py",
                current.function,
                help="keep it for OneFlow, or remove it",
            )
        elif macro not in QUIET_MACROS:
            known = set(OP_MACROS) | GRAD_MACROS | {name for name in self.program.functions if name.isupper()}
            said = unknown("no macro is named", macro, known, otherwise="define it, or include the header that does")
            self.add("SPEC020", said.message, current.function, help=said.help)

    def grad(self, call: Call, links: list[Link], item: Node) -> None:
        found = self.constant_name(call, "REGISTER_USER_OP_GRAD")
        if found is None:
            return
        entry = GradEntry(found[0], item, found[1])
        before = len(self.findings.items)
        has_setter = False
        for link in links:
            if link.name not in GRAD_SETTERS:
                said = unknown("a gradient registration has no method", link.name, GRAD_SETTERS)
                self.add("SPEC030", said.message, link.member.name, help=said.help, subject=entry.name)
                continue
            has_setter = True
            kind, entry.is_new_style = GRAD_SETTERS[link.name]
            if len(link.node.args) != 1:
                self.add("SPEC022", f".{link.name} takes one function", link.node, subject=entry.name)
                continue
            entry.unit = self.program.slot_unit(
                f"{python_name(entry.name)}__grad", link.node.args[0], FUNCTION_TYPES[kind], entry.name
            )
        if not has_setter:
            self.add(
                "SPEC039",
                f"the gradient of {entry.name!r} has no function",
                entry.name_node,
                help="add .SetGenBackwardOpConfFn(...) or .SetBackwardOpConfGenFn(...)",
                subject=entry.name,
            )
        self.enter(self.grads, entry, before, f"the gradient of {entry.name!r}")


def read_registrations(
    program: SpecProgram, linker: Linker, expressions: list[syntax.ExprStatement], findings: Findings
) -> tuple[list[OpEntry], list[GradEntry]]:
    """Return the ops and gradients that a file registers, in order."""
    reader = _Reader(program, linker, findings)
    for item in expressions:
        reader.read(item)
    program.finish()
    return reader.ops, reader.grads
