"""The operators of Variables, from the table that Tensors use too.

Methods with a framework's names are defined in the facade.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from opkit.errors import GraphError
from opkit.ir import Variable
from opkit.ops.core.mode import local
from opkit.ops.core.types import Function
from opkit.ops.methods import OPERATORS, install_operators
from opkit.static.builder import build_in, building


class DataError(GraphError, TypeError):
    """The data of a Variable was requested, which has none until the program runs."""


def _no_data(name: str, what: str) -> Any:
    def method(self: Variable, *args: Any, **options: Any) -> NoReturn:
        raise DataError(
            f"variable {self.name!r} has no data while the graph is built: {what} cannot be known",
            help="fetch it with Executor.run(..., fetch_list=[...])",
        )

    method.__name__ = name
    return method


def _length(self: Variable) -> int:
    shape = self.shape
    if not shape or shape[0] == -1:
        raise DataError(f"variable {self.name!r} of shape {shape} has no length that is known before the program runs")
    return shape[0]


def _iterate(self: Variable) -> Iterator[Any]:
    return (self[i] for i in range(_length(self)))  # type: ignore[index]


def _in_its_program(build: Function) -> Function:
    """Return an operator that builds in its first operand's program, also outside its ``program_guard``.

    In a branch of that program it builds in the branch.
    """

    def operate(self: Variable, *others: Any) -> Any:
        program = self.block.program
        if not local.mode.is_static or building.main.is_within(program):
            return build(self, *others)
        with build_in(program):
            return build(self, *others)

    return operate


def install_methods() -> None:
    """Give Variables their operators; ``bool`` of one is True.

    Source: Paddle 2.6, paddle.static.Variable.
    """
    install_operators(Variable)
    for name in OPERATORS:
        setattr(Variable, name, _in_its_program(getattr(Variable, name)))
    kind: Any = Variable
    kind.__array_ufunc__ = None
    kind.__len__ = _length
    kind.__iter__ = _iterate
    kind.__bool__ = lambda self: True
    for name, what in (("__float__", "its value"), ("__int__", "its value"), ("__array__", "its data")):
        setattr(kind, name, _no_data(name, what))
