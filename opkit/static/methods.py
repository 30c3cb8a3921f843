"""What a Variable can do: the operators of the table that Tensors install too.

Methods that a framework's users call by name are the facade's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from opkit.errors import GraphError
from opkit.ir import Variable
from opkit.ops.methods import install_operators

__all__ = ["DataError", "install_methods"]


class DataError(GraphError, TypeError):
    """Data was asked of a Variable, which has none until the program runs."""


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
        raise DataError(f"variable {self.name!r} of shape {shape} has no length that is known before it runs")
    return shape[0]


def _iterate(self: Variable) -> Iterator[Any]:
    return (self[i] for i in range(_length(self)))  # type: ignore[index]


def install_methods() -> None:
    """Give Variables their operators; ``bool`` of one is True, as in Paddle 2.6."""
    install_operators(Variable)
    kind: Any = Variable
    kind.__array_ufunc__ = None
    kind.__len__ = _length
    kind.__iter__ = _iterate
    kind.__bool__ = lambda self: True
    for name, what in (("__float__", "its value"), ("__int__", "its value"), ("__array__", "its data")):
        setattr(kind, name, _no_data(name, what))
