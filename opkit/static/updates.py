"""Updates in graphs: one update op per parameter, which changes it in place.

The update op defines the computation; the facade defines optimizers and their arguments, and calls

    append_update(parameter, gradient, update, learning_rate, [State("velocity", 0.0)], {...})

``update`` is an OpDef without outputs; its inputs are the parameter, the gradient, the learning rate, then the states.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from opkit.ir import Operation, Shape, TensorDesc, Variable
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs
from opkit.record import record
from opkit.static.builder import append, building
from opkit.static.names import unique_name
from opkit.static.parameters import create_state
from opkit.static.scope import Scope

Pairs = list[tuple[Variable, Variable]]


@record
class State:
    """What an update keeps per parameter.

    Args:
        name: suffix of the Variable's name.
        fill: its first value.
        shape: None for the parameter's own.
    """

    name: str
    fill: float = 0.0
    shape: Shape | None = None


def append_update(
    parameter: Variable,
    gradient: Variable,
    update: OpDef,
    learning_rate: Variable,
    states: Sequence[State],
    attrs: Attrs,
) -> Operation:
    """Append the update of a parameter by its gradient.

    Args:
        parameter: what is updated.
        gradient: its gradient.
        update: the update op.
        learning_rate: its rate.
        states: what the update keeps per parameter, in the order of its inputs.
        attrs: attributes of the update; defaults are filled in.
    """
    block = parameter.block.program.blocks[0]
    defaults = {attr.name: attr.default for attr in update.attrs}
    held = [_state_of(parameter, state) for state in states]
    append(block, update, [parameter, gradient, learning_rate, *held], {**defaults, **attrs})
    return block.ops[-1]


def _state_of(parameter: Variable, state: State) -> Variable:
    shape = parameter.shape if state.shape is None else state.shape
    desc = TensorDesc(shape, parameter.desc.dtype)
    return create_state(unique_name(f"{parameter.name}_{state.name}"), desc, state.fill)


def learning_rate_variable(rate: Callable[[], float]) -> Variable:
    """Return the Variable that holds a learning rate; the function is asked before every run of the program."""
    name = unique_name("learning_rate")
    variable = create_state(name, TensorDesc((1,), "float32"), float(rate()))
    building.main.before_run.append(_Setter(name, rate))
    return variable


class _Setter:
    """Writes a learning rate into its place before a run."""

    def __init__(self, name: str, rate: Callable[[], float]) -> None:
        self._name = name
        self._rate = rate

    def __call__(self, scope: Scope) -> None:
        holder = scope.find_var(self._name)
        if holder is not None and holder.array is not None:
            holder.array[...] = np.float32(self._rate())
