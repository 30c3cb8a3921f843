"""Updates in graphs: one update op per parameter, which changes it in place.

The update op defines the computation; the facade defines optimizers and their arguments, and calls

    append_updates(pairs, update, learning_rate=0.1, states=[State("velocity", 0.0)], attrs={...})

``update`` is an OpDef without outputs; its inputs are the parameter, the gradient, the learning rate, then the states.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opkit.ir import Operation, Shape, TensorDesc, Variable, to_numpy
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs
from opkit.record import record
from opkit.static.builder import append, build_in, building
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
        dtype: None for the parameter's own.
    """

    name: str
    fill: float = 0.0
    shape: Shape | None = None
    dtype: str | None = None


def append_updates(
    pairs: Pairs,
    update: OpDef,
    *,
    learning_rate: float | Callable[[], float] | Variable,
    states: Sequence[State] = (),
    attrs: Attrs | Callable[[Variable], Mapping[str, Any]] | None = None,
) -> list[Operation]:
    """Append one update per (parameter, gradient) pair.

    Args:
        pairs: the parameters with their gradients.
        update: the update op.
        learning_rate: a number, a function that is asked before every run, or a Variable.
        states: what the update keeps per parameter, in the order of its inputs.
        attrs: attributes of the update, or a function that returns them for a parameter; defaults are filled in.

    Returns:
        the update Operations.
    """
    if not pairs:
        return []
    program = pairs[0][0].block.program
    defaults = {attr.name: attr.default for attr in update.attrs}
    made = []
    with build_in(program, "optimize"):
        rate = learning_rate if isinstance(learning_rate, Variable) else learning_rate_variable(learning_rate)
        for parameter, gradient in pairs:
            given = attrs(parameter) if callable(attrs) else attrs or {}
            held = [_state_of(parameter, state) for state in states]
            append(program.blocks[0], update, [parameter, gradient, rate, *held], {**defaults, **given})
            made.append(program.blocks[0].ops[-1])
    return made


def _state_of(parameter: Variable, state: State) -> Variable:
    shape = parameter.shape if state.shape is None else state.shape
    desc = TensorDesc(shape, state.dtype or parameter.desc.dtype)
    return create_state(unique_name(f"{parameter.name}_{state.name}"), desc, state.fill)


def learning_rate_variable(rate: float | Callable[[], float], dtype: str = "float32") -> Variable:
    """Return the Variable that holds a learning rate; a function is asked before every run of the program."""
    name = unique_name("learning_rate")
    first = rate() if callable(rate) else rate
    variable = create_state(name, TensorDesc((1,), dtype), float(first))
    if callable(rate):
        building.main.before_run.append(_Setter(name, rate, dtype))
    return variable


class _Setter:
    """Writes a learning rate into its place before a run."""

    def __init__(self, name: str, rate: Callable[[], float], dtype: str) -> None:
        self._name = name
        self._rate = rate
        self._dtype = to_numpy(dtype)

    def __call__(self, scope: Scope) -> None:
        holder = scope.find_var(self._name)
        if holder is not None and holder.array is not None:
            holder.array[...] = np.asarray(self._rate(), self._dtype)
