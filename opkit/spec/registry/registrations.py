"""Registrations: the chains of setters at file scope become ops and gradients.

What an op declares is read in ``op_registrations``; what the functions do is lowered by ``program``.
"""

from __future__ import annotations

from opkit.errors import unknown
from opkit.spec.findings import Findings
from opkit.spec.library.registration_names import GRAD_MACROS, GRAD_SETTERS, KERNEL_MACROS, OP_MACROS, QUIET_MACROS
from opkit.spec.lower.link import Linker
from opkit.spec.lower.names import FUNCTION_TYPES
from opkit.spec.lower.program import SpecProgram
from opkit.spec.parse import syntax
from opkit.spec.parse.syntax import Call, Member, Name, Node
from opkit.spec.registry.chains import Link, python_name
from opkit.spec.registry.entries import GradEntry, OpEntry
from opkit.spec.registry.op_registrations import OpReader


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
