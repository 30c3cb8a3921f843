"""``flow.builtin_op``: an op type of ``opkit.ops`` as a function of tensors (v0.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.errors import UsageError
from opkit.oneflow.experimental.functions import Tensor, device
from opkit.oneflow.experimental.tensors import of, value_of
from opkit.oneflow.user_op import as_value, user_op_builder


class _OpBuilder:
    """Collects the names of an op's inputs and outputs, and attributes."""

    def __init__(self, op_type_name: str) -> None:
        self._op = op_type_name
        self._inputs: list[tuple[str, int]] = []
        self._outputs: list[tuple[str, int]] = []
        self._attrs: dict[str, Any] = {}

    def Name(self, op_name: str) -> _OpBuilder:
        """Accept a name of the op's own."""
        return self

    def Input(self, input_name: str, num: int = 1) -> _OpBuilder:
        """Name an input, which takes ``num`` tensors."""
        self._inputs.append((input_name, num))
        return self

    def Output(self, output_name: str, num: int = 1) -> _OpBuilder:
        """Ask for an output of ``num`` tensors."""
        self._outputs.append((output_name, num))
        return self

    def Attr(self, attr_name: str, attr_value: Any, attr_type_name: str | None = None) -> _OpBuilder:
        """Set an attribute; a call may set others."""
        self._attrs[attr_name] = attr_value
        return self

    def Build(self) -> Callable[..., list[Tensor]]:
        """Return the function: tensors in the order of the inputs, attributes by name; a list of tensors."""
        total = sum(num for _, num in self._inputs)

        def call(*tensors: Any, **attrs: Any) -> list[Tensor]:
            if len(tensors) != total:
                raise UsageError(f"op {self._op!r} takes {total} tensors, got {len(tensors)}")
            where: device | None = next((item.device for item in tensors if isinstance(item, Tensor)), None)
            left = iter([as_value(value_of(item)) for item in tensors])
            builder = user_op_builder(self._op).Op(self._op)
            for name, num in self._inputs:
                builder.Input(name, [next(left) for _ in range(num)])
            for name, num in self._outputs:
                builder.Output(name, num)
            for name, value in {**self._attrs, **attrs}.items():
                builder.Attr(name, value)
            return [of(value, where) for value in builder.Build().InferAndTryRun().RemoteBlobList()]

        return call


def builtin_op(op_type_name: str) -> _OpBuilder:
    """Return a builder of a function that applies an op type to tensors.

    Args:
        op_type_name: the registered name.
    """
    return _OpBuilder(op_type_name)
