"""Block: Operations in order, and the Variables that they read and write, by name.

Inference and gradients are not known here; ``opkit.static.builder`` appends inferred Operations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opkit.errors import GraphError, UsageError, unknown
from opkit.ir.desc import TensorDesc
from opkit.ir.operation import Operation
from opkit.ir.value import Variable

if TYPE_CHECKING:
    from opkit.ir.program import Program


class VariableNotFoundError(GraphError, ValueError):
    """No Variable of the block has this name.

    Source: Paddle 2.6 raises ValueError.
    """


class Block:
    """A straight line of Operations.

    Args:
        program: the program that it belongs to.
        idx: its number in the program.
    """

    __slots__ = ("__weakref__", "idx", "ops", "program", "vars")

    def __init__(self, program: Program, idx: int = 0) -> None:
        self.program = program
        self.idx = idx
        self.ops: list[Operation] = []
        self.vars: dict[str, Variable] = {}

    @property
    def parent_idx(self) -> int:
        """The enclosing block's number; -1, since programs are straight lines."""
        return -1

    def has_var(self, name: str) -> bool:
        """Say whether a Variable of that name is here."""
        return name in self.vars

    def var(self, name: str) -> Variable:
        """Return the Variable of that name.

        Raises:
            VariableNotFoundError: there is none; the message suggests the nearest names.
            TypeError: the name is not a string.
        """
        if not isinstance(name, str):
            raise TypeError(f"block.var takes a name (a str), got {type(name).__name__}")
        found = self.vars.get(name)
        if found is None:
            said = unknown("no variable", name, self.vars, tail=" is in this block", limit=3)
            raise said.error(VariableNotFoundError)
        return found

    def add_variable(self, variable: Variable) -> Variable:
        """Add a Variable under its name.

        Raises:
            UsageError: the name is taken.
        """
        if variable.name in self.vars:
            raise UsageError(f"the block has a variable {variable.name!r} already")
        self.vars[variable.name] = variable
        self.program.version += 1
        return variable

    def declare(
        self, name: str, desc: TensorDesc, *, persistable: bool = False, stop_gradient: bool = False
    ) -> Variable:
        """Return the Variable of that name; it is created if there is none.

        Raises:
            UsageError: there is one with another shape or dtype.
        """
        held = self.vars.get(name)
        if held is None:
            return self.add_variable(Variable(self, name, desc, persistable=persistable, stop_gradient=stop_gradient))
        if held.shape != desc.shape or held.desc.dtype != desc.dtype:
            raise UsageError(
                f"variable {name!r} exists as {held.desc} and cannot be created again as {desc}",
                help="give it another name, or the same shape and dtype",
            )
        return held

    def append(self, op: Operation) -> None:
        """Add an Operation at the end.

        Raises:
            GraphError: an Executor is running the program (in another thread).
        """
        program = self.program
        if program.running:
            raise GraphError(
                f"op {op.type!r} was added to a program while an Executor runs it",
                where=op.where,
                help="finish building a program before it is run, or build another program (clone())",
            )
        self.ops.append(op)
        program.version += 1

    def all_parameters(self) -> list[Variable]:
        """Return the parameters, in the order in which they were created."""
        return [variable for variable in self.vars.values() if variable.is_parameter]

    def __repr__(self) -> str:
        return f"Block {self.idx} ({len(self.vars)} variables, {len(self.ops)} ops)"
