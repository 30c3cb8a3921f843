"""Writer: the Python source of one unit as it grows, with the definition file line that each line comes from.

It knows names and frames; what is written is decided by lowering.
"""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterator
from contextlib import contextmanager

from opkit.spec.library.types import Type
from opkit.spec.lower.conversions import copied
from opkit.spec.lower.lowered import ATOM, Frame, Lowered, LowerError, Variable
from opkit.spec.parse.syntax import Node
from opkit.spec.runtime import arithmetic, containers, framework
from opkit.spec.runtime import objects as values

__all__ = ["RESERVED", "Writer"]

#: Names that generated code uses itself; a variable of the definition file with such a name gets another.
RESERVED = (
    frozenset(keyword.kwlist)
    | frozenset(dir(builtins))
    | frozenset((*arithmetic.__all__, *containers.__all__, *values.__all__))
    | frozenset(framework.FUNCTIONS)
    | frozenset(
        (
            "failed",
            "refused",
            "fail",
            "not_null",
            "make_map",
            "Sbp",
            "Distribution",
            "SbpBuilder",
            "OpBuilder",
            "RefusalError",
            "FatalError",
            "dtype_of",
            "dtype_number",
            "accumulate",
            "find_if",
            "equal",
            "max_element",
            "min_element",
            "unique",
        )
    )
)


class Writer:
    """Lines of a unit: (text, token index); scopes and frames of what is being written."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, int]] = []
        self.indent = 1
        self.scopes: list[dict[str, Variable]] = [{}]
        self.frame = Frame()
        self.names: set[str] = set()
        self.counter = 0
        self.declared: list[Variable] = []
        #: Python names of counters that stay small and are not negative
        self.small: set[str] = set()

    def emit(self, text: str, node: Node) -> None:
        """Write one line for a piece of syntax."""
        self.lines.append(("    " * self.indent + text, node.first))

    @contextmanager
    def block(self) -> Iterator[None]:
        """Indent by one level and open a scope; an empty block gets ``pass``."""
        self.indent += 1
        self.scopes.append({})
        start = len(self.lines)
        try:
            yield
        finally:
            if len(self.lines) == start:
                at = self.lines[-1][1] if self.lines else 0
                self.lines.append(("    " * self.indent + "pass", at))
            self.scopes.pop()
            self.indent -= 1

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope without indentation."""
        self.scopes.append({})
        try:
            yield
        finally:
            self.scopes.pop()

    def fresh(self, name: str) -> str:
        """Return a Python name that this unit does not use yet."""
        base = name if name not in RESERVED else name + "_"
        made, number = base, 1
        while made in self.names:
            number += 1
            made = f"{base}_{number}"
        self.names.add(made)
        return made

    def temporary(self, code: str, node: Node) -> str:
        """Store an expression in a variable of its own, unless it is one already."""
        if code.isidentifier():
            return code
        self.counter += 1
        name = self.fresh(f"_t{self.counter}")
        self.emit(f"{name} = {code}", node)
        return name

    def declare(self, name: str, kind: Type, how: str, node: Node, value: Lowered | None = None) -> Variable:
        """Declare a variable of the definition file in the innermost scope."""
        python = self.fresh(name) if value is None else ""
        made = Variable(name, python, kind, how, self.frame, node, value=value)
        self.scopes[-1][name] = made
        self.declared.append(made)
        return made

    def lookup(self, name: str) -> Variable | None:
        """Return the variable that a name stands for here."""
        for scope in reversed(self.scopes):
            found = scope.get(name)
            if found is not None:
                return found
        return None

    def read(self, variable: Variable, node: Node) -> Lowered:
        """Return the value of a variable, captured where a lambda needs it."""
        variable.is_used = True
        if variable.first_read is None:
            variable.first_read = node
        if variable.kind == "alias" and variable.value is not None:
            return variable.value
        python, holder = self.captured(variable)
        is_cell = variable.kind == "cell" if holder is None else holder.is_mutable and not variable.type.is_object
        if is_cell:
            code = f"{python}.v"
            return Lowered(code, variable.type, ATOM, True, code, ("cell", python))
        is_const = variable.is_read_only or (holder is not None and not variable.type.is_object)
        target = "" if is_const else python
        return Lowered(python, variable.type, ATOM, True, target, ("name", variable.name), is_read_only=is_const)

    def captured(self, variable: Variable) -> tuple[str, Frame | None]:
        """Return the Python name of a variable in this frame, and the innermost lambda that holds a copy of it."""
        frame: Frame | None = self.frame
        chain: list[Frame] = []
        while frame is not None and frame is not variable.frame:
            chain.append(frame)
            frame = frame.parent
        python, holder = variable.python, None
        for inner in reversed(chain):
            if inner.captures(variable.name):
                if python not in inner.captured:
                    copy = self.snapshot(python, variable, holder)
                    if inner.is_mutable and not variable.type.is_object:
                        copy = f"Cell({copy})"
                    inner.captured[python] = (self.fresh(variable.name), copy)
                python, holder = inner.captured[python][0], inner
        return python, holder

    def snapshot(self, python: str, variable: Variable, holder: Frame | None) -> str:
        """Return code that copies a variable where a lambda captures it."""
        if variable.kind == "cell" if holder is None else holder.is_mutable and not variable.type.is_object:
            return f"{python}.v"
        return copied(Lowered(python, variable.type, is_stored=variable.kind == "plain"))

    def assigned(self, variable: Variable) -> None:
        """Note that a variable is assigned to, which an inner function must declare."""
        variable.is_set = True
        frame: Frame | None = self.frame
        while frame is not None and frame is not variable.frame:
            if frame.captures(variable.name):
                return
            frame.nonlocals.add(variable.python)
            frame = frame.parent


__all__ += ["LowerError"]
