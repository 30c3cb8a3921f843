"""Operation: one applied op of a graph, its inputs and outputs, and where the user added it.

The opdef defines what the op means; nothing is executed or differentiated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from opkit.errors import Location
from opkit.ir.rewrite import ForInference
from opkit.ir.value import Value

if TYPE_CHECKING:
    from opkit.ir.block import Block


class OpLike(Protocol):
    """What a graph knows about an op: its name, and what becomes of it in a copy for inference (None: it is kept)."""

    name: str
    for_inference: ForInference | None


class Operation:
    """An op applied to Values.

    Args:
        block: the block that it is in.
        opdef: the op.
        inputs: one Value per input, None for an optional one left out.
        attrs: every declared attribute.
        role: "forward", "backward", "optimize" or "init".
        site: file, line and function of the user's call.
        label: what messages and profiles call it, where that differs from the op's name.
        placement: the devices on which the user asked it to run; None where that was not said.
        scope: the names of the scopes and layers that it was added in, outermost first, joined by "/"; "" for none.

    ``writes`` holds the indices of the inputs that it changes in place (persistable ones); ``outputs`` ends with one
    new version for each of them.
    """

    __slots__ = (
        "attrs",
        "block",
        "inputs",
        "is_warned",
        "label",
        "opdef",
        "outputs",
        "placement",
        "role",
        "scope",
        "site",
        "writes",
    )

    def __init__(
        self,
        block: Block,
        opdef: OpLike,
        inputs: tuple[Value | None, ...],
        attrs: Mapping[str, Any],
        role: str = "forward",
        site: tuple[str, int, str] | None = None,
        label: str = "",
        placement: Any = None,
        scope: str = "",
    ) -> None:
        self.block = block
        self.opdef = opdef
        self.inputs = inputs
        self.attrs = attrs
        self.outputs: tuple[Value, ...] = ()
        self.writes: tuple[int, ...] = ()
        self.is_warned = False
        self.role = role
        self.site = site
        self.label = label
        self.placement = placement
        self.scope = scope

    @property
    def type(self) -> str:
        """The op type's name."""
        return self.opdef.name

    @property
    def results(self) -> tuple[Value, ...]:
        """The outputs that its kernel returns: those that are not written in place."""
        return self.outputs[: len(self.outputs) - len(self.writes)] if self.writes else self.outputs

    @property
    def where(self) -> Location | None:
        """Where the user added it."""
        if self.site is None:
            return None
        file, line, function = self.site
        return Location(file, line, function=function)

    @property
    def input_arg_names(self) -> list[str]:
        """Names of the Variables that it reads."""
        return [value.variable.name for value in self.inputs if value is not None]

    @property
    def output_arg_names(self) -> list[str]:
        """Names of the Variables that it writes."""
        return [value.variable.name for value in self.outputs]

    def attr(self, name: str) -> Any:
        """Return an attribute's value."""
        return self.attrs[name]

    def attr_names(self) -> list[str]:
        """Return the names of the attributes."""
        return list(self.attrs)

    def __repr__(self) -> str:
        return describe_operation(self)


def describe_operation(op: Operation) -> str:
    """Return one line: outputs, op, inputs, attributes."""
    outputs = ", ".join(value.name for value in op.outputs)
    inputs = ["None" if value is None else value.name for value in op.inputs]
    attrs = [f"{name}={_short(value)}" for name, value in op.attrs.items()]
    call = f"{op.label or op.type}({', '.join(inputs + attrs)})"
    return f"{outputs} = {call}" if outputs else call


def _short(value: Any) -> str:
    if isinstance(value, (bool, int, float, str, tuple, list, type(None))):
        text = repr(value)
        return text if len(text) <= 60 else text[:57] + "..."
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if isinstance(shape, Sequence) and dtype is not None:
        return f"<{dtype}{list(shape)}>"
    return f"<{type(value).__name__}>"
