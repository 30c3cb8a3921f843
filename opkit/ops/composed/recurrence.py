"""One step of recurrent networks: from an input's and a state's linear maps to the new state."""

from __future__ import annotations

from opkit.ops import following as ops
from opkit.ops.core.value import Value


def linear_map(x: Value, weight: Value, bias: Value) -> Value:
    """Return ``x @ weight.T + bias``."""
    return ops.add(ops.matmul(x, weight, False, True), bias)


def lstm_step(gates: Value, cell: Value) -> tuple[Value, Value]:
    """Return the states h and c of long short-term memory (Hochreiter and Schmidhuber 1997).

    Args:
        gates: the sums of both linear maps, with the gates i, f, g and o along the last axis.
        cell: the state c before.
    """
    i, f, g, o = ops.split(gates, 4, -1)
    new_cell = ops.add(ops.mul(ops.sigmoid(f), cell), ops.mul(ops.sigmoid(i), ops.tanh(g)))
    return ops.mul(ops.sigmoid(o), ops.tanh(new_cell)), new_cell


def gru_step(from_input: Value, from_state: Value, state: Value) -> Value:
    """Return the state of a gated recurrent unit (Cho et al. 2014).

    Args:
        from_input: the linear map of the input, with the gates r, z and c along the last axis.
        from_state: that of the state.
        state: the state before.
    """
    x_r, x_z, x_c = ops.split(from_input, 3, -1)
    h_r, h_z, h_c = ops.split(from_state, 3, -1)
    reset, update = ops.sigmoid(ops.add(x_r, h_r)), ops.sigmoid(ops.add(x_z, h_z))
    fresh = ops.tanh(ops.add(x_c, ops.mul(reset, h_c)))
    return ops.add(ops.mul(ops.sub(state, fresh), update), fresh)
