"""Recurrent cells and networks: simple, LSTM, GRU; one step of a cell is a handful of ops."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit import ops
from opkit.errors import UsageError
from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Constant, Uniform
from opkit.paddle.nn.layer.container import LayerList
from opkit.paddle.nn.layer.layers import Layer

__all__ = ["GRU", "LSTM", "RNN", "BiRNN", "GRUCell", "LSTMCell", "RNNCellBase", "SimpleRNN", "SimpleRNNCell"]


# ---- cells -----------------------------------------------------------------------------------------------------------
class RNNCellBase(Layer):
    """Base of cells: ``forward(inputs, states)`` returns the output and the new states."""

    @property
    def state_shape(self) -> Any:
        """The shape of a sample's state, or a tuple of shapes."""
        raise NotImplementedError(f"{type(self).__name__} defines no state_shape")

    def get_initial_states(
        self, batch_ref: Any, shape: Any = None, dtype: Any = None, init_value: float = 0.0, batch_dim_idx: int = 0
    ) -> Any:
        """Return states filled with one number, as many as the batch of a tensor has samples."""
        shapes = self.state_shape if shape is None else shape
        kind = default_dtype() if dtype is None else dtype
        first = batch_ref[0] if isinstance(batch_ref, (list, tuple)) else batch_ref
        count = first.shape[batch_dim_idx]

        def filled(sizes: Any) -> Any:
            if isinstance(sizes[0], (list, tuple)):
                return tuple(filled(item) for item in sizes)
            return ops.constant(init_value, (count, *[size for size in sizes if size != -1]), kind)

        return filled(shapes)


class _Cell(RNNCellBase):
    _gates = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(dtype=default_dtype())
        if hidden_size <= 0:
            raise UsageError(f"{type(self).__name__}: hidden_size must be positive, got {hidden_size}")
        bound = 1.0 / float(np.sqrt(hidden_size))
        rows, start = self._gates * hidden_size, Uniform(-bound, bound)
        weight_attrs, bias_attrs = (weight_ih_attr, weight_hh_attr), (bias_ih_attr, bias_hh_attr)
        firsts = [start if attr is not False else Constant(1.0) for attr in weight_attrs]
        self.weight_ih = self._fixed_or_trained([rows, input_size], weight_ih_attr, firsts[0])
        self.weight_hh = self._fixed_or_trained([rows, hidden_size], weight_hh_attr, firsts[1])
        firsts = [start if attr is not False else Constant(0.0) for attr in bias_attrs]
        self.bias_ih = self._fixed_or_trained([rows], bias_ih_attr, firsts[0], is_bias=True)
        self.bias_hh = self._fixed_or_trained([rows], bias_hh_attr, firsts[1], is_bias=True)
        self.input_size, self.hidden_size = input_size, hidden_size

    @property
    def state_shape(self) -> Any:
        """The shape of a sample's state."""
        return (self.hidden_size,)

    def _from_input(self, inputs: Any) -> Any:
        return ops.add(ops.matmul(inputs, self.weight_ih, False, True), self.bias_ih)

    def _from_state(self, state: Any) -> Any:
        return ops.add(ops.matmul(state, self.weight_hh, False, True), self.bias_hh)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.input_size}, {self.hidden_size}"


class SimpleRNNCell(_Cell):
    """``h = act(W_ih x + b_ih + W_hh h + b_hh)``."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, weight_ih_attr, weight_hh_attr, bias_ih_attr, bias_hh_attr)
        if activation not in ("tanh", "relu"):
            raise UsageError(f"SimpleRNNCell: activation is 'tanh' or 'relu', got {activation!r}")
        self.activation = activation

    def forward(self, inputs: Any, states: Any = None) -> tuple[Any, Any]:
        """Return the new state, twice."""
        state = self.get_initial_states(inputs) if states is None else states
        new = getattr(functional, self.activation)(ops.add(self._from_input(inputs), self._from_state(state)))
        return new, new

    def extra_repr(self) -> str:
        """Return the settings."""
        text = super().extra_repr()
        return text if self.activation == "tanh" else f"{text}, activation={self.activation}"


class LSTMCell(_Cell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997): gates i, f, g, o in the rows of the weights."""

    _gates = 4

    @property
    def state_shape(self) -> Any:
        """The shapes of a sample's states h and c."""
        return (self.hidden_size,), (self.hidden_size,)

    def forward(self, inputs: Any, states: Any = None) -> tuple[Any, Any]:
        """Return h, and the pair of h and c."""
        hidden, cell = self.get_initial_states(inputs) if states is None else states
        i, f, g, o = ops.split(ops.add(self._from_input(inputs), self._from_state(hidden)), 4, -1)
        new_cell = ops.add(ops.mul(ops.sigmoid(f), cell), ops.mul(ops.sigmoid(i), ops.tanh(g)))
        new = ops.mul(ops.sigmoid(o), ops.tanh(new_cell))
        return new, (new, new_cell)


class GRUCell(_Cell):
    """Gated recurrent unit (Cho et al. 2014): gates r, z, c in the rows of the weights."""

    _gates = 3

    def forward(self, inputs: Any, states: Any = None) -> tuple[Any, Any]:
        """Return the new state, twice."""
        state = self.get_initial_states(inputs) if states is None else states
        x_r, x_z, x_c = ops.split(self._from_input(inputs), 3, -1)
        h_r, h_z, h_c = ops.split(self._from_state(state), 3, -1)
        reset, update = ops.sigmoid(ops.add(x_r, h_r)), ops.sigmoid(ops.add(x_z, h_z))
        fresh = ops.tanh(ops.add(x_c, ops.mul(reset, h_c)))
        new = ops.add(ops.mul(ops.sub(state, fresh), update), fresh)
        return new, new


# ---- along time ------------------------------------------------------------------------------------------------------
def _mapped(function: Any, *trees: Any) -> Any:
    """Return the nested tuples of what a function returns for the values of equally nested ones."""
    if isinstance(trees[0], (list, tuple)):
        return tuple(_mapped(function, *items) for items in zip(*trees))
    return function(*trees)


def _steps(cell: Any, inputs: Any, states: Any, lengths: Any, time_axis: int, is_reverse: bool) -> tuple[Any, Any]:
    slices = ops.unstack(inputs, time_axis)
    masks = [None] * len(slices)
    if lengths is not None:
        within = [ops.less(ops.constant(k, (), lengths._data.dtype.name), lengths) for k in range(len(slices))]
        masks = [ops.expand_dims(item, -1) for item in within]
    outputs: list[Any] = [None] * len(slices)
    order: Sequence[int] = range(len(slices))
    for k in reversed(order) if is_reverse else order:
        out, new = cell(slices[k], states)
        if masks[k] is not None:
            mask = masks[k]
            new = _mapped(lambda fresh, held, m=mask: ops.where(m, fresh, held), new, states)
            out = ops.where(mask, out, 0.0)
        outputs[k], states = out, new
    return ops.stack(outputs, time_axis), states


class RNN(Layer):
    """Applies a cell at each step of time, forwards or (``is_reverse``) backwards."""

    def __init__(self, cell: Any, is_reverse: bool = False, time_major: bool = False) -> None:
        super().__init__()
        self.cell = cell
        self.is_reverse, self.time_major = is_reverse, time_major

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Return the outputs of all steps and the last states.

        Args:
            inputs: ``(N, steps, size)``, or ``(steps, N, size)`` with ``time_major``.
            initial_states: zeros where left out.
            sequence_length: ``(N,)``: behind it outputs are 0 and states stay.
            kwargs: accepted, without effect.
        """
        axis = 0 if self.time_major else 1
        if initial_states is None:
            initial_states = self.cell.get_initial_states(inputs, batch_dim_idx=1 - axis, dtype=inputs._data.dtype)
        return _steps(self.cell, inputs, initial_states, sequence_length, axis, self.is_reverse)


class BiRNN(Layer):
    """Applies one cell forwards and one backwards, and joins their outputs."""

    def __init__(self, cell_fw: Any, cell_bw: Any, time_major: bool = False) -> None:
        super().__init__()
        self.cell_fw, self.cell_bw = cell_fw, cell_bw
        self.time_major = time_major

    def forward(
        self, inputs: Any, initial_states: Any = None, sequence_length: Any = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Return the joined outputs of all steps and the pair of the last states."""
        axis = 0 if self.time_major else 1
        if initial_states is None:
            initial_states = tuple(
                cell.get_initial_states(inputs, batch_dim_idx=1 - axis, dtype=inputs._data.dtype)
                for cell in (self.cell_fw, self.cell_bw)
            )
        there, last = _steps(self.cell_fw, inputs, initial_states[0], sequence_length, axis, False)
        back, first = _steps(self.cell_bw, inputs, initial_states[1], sequence_length, axis, True)
        return ops.concat([there, back], -1), (last, first)


# ---- networks --------------------------------------------------------------------------------------------------------
class _Network(LayerList):
    _cell: Any = None
    _has_cell_state = False

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        **cell_settings: Any,
    ) -> None:
        super().__init__()
        if direction not in ("forward", "bidirect", "bidirectional"):
            raise UsageError(f"direction is 'forward', 'bidirect' or 'bidirectional', got {direction!r}")
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.num_directions = 1 if direction == "forward" else 2
        self.time_major, self.dropout = time_major, dropout
        for k in range(num_layers):
            size = input_size if k == 0 else hidden_size * self.num_directions
            cells = [self._cell(size, hidden_size, **cell_settings) for _ in range(self.num_directions)]
            is_single = len(cells) == 1
            self.append(RNN(cells[0], False, time_major) if is_single else BiRNN(cells[0], cells[1], time_major))
            for cell, suffix in zip(cells, ("", "_reverse")):
                for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    setattr(self, f"{part}_l{k}{suffix}", getattr(cell, part))

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None) -> tuple[Any, Any]:
        """Return the outputs of the last layer and the last states of all.

        Args:
            inputs: ``(N, steps, input_size)``, or ``(steps, N, input_size)`` with ``time_major``.
            initial_states: ``(layers * directions, N, hidden_size)``, of an LSTM a pair of such; zeros where left out.
            sequence_length: ``(N,)``: behind it outputs are 0 and states stay.
        """
        given: list[Any] = [None] * (self.num_layers * self.num_directions)
        if initial_states is not None:
            parts = initial_states if self._has_cell_state else (initial_states,)
            rows = [ops.unstack(part, 0) for part in parts]
            given = list(zip(*rows)) if self._has_cell_state else rows[0]
        last: list[Any] = []
        out = inputs
        for k in range(self.num_layers):
            if k and self.dropout:
                out = functional.dropout(out, self.dropout, training=self.training)
            own = given[k * self.num_directions : (k + 1) * self.num_directions]
            states = None if own[0] is None else own[0] if self.num_directions == 1 else tuple(own)
            out, new = self[k](out, states, sequence_length)
            last += [new] if self.num_directions == 1 else list(new)
        if self._has_cell_state:
            return out, tuple(ops.stack(list(part), 0) for part in zip(*last))
        return out, ops.stack(last, 0)

    def extra_repr(self) -> str:
        """Return the settings that are not the default."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, default in (("num_layers", 1), ("time_major", False), ("dropout", 0.0)):
            if getattr(self, name) != default:
                text += f", {name}={getattr(self, name)}"
        return text

    def __repr__(self) -> str:
        # Paddle 2.6 prints the settings of a network in the line of its name.
        text = super().__repr__()
        return text.replace("(\n  ", "(", 1)


class SimpleRNN(_Network):
    """Layers of simple cells."""

    _cell: Any = SimpleRNNCell

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        activation: str = "tanh",
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        self.__dict__["activation"] = activation
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            activation=activation,
            weight_ih_attr=weight_ih_attr,
            weight_hh_attr=weight_hh_attr,
            bias_ih_attr=bias_ih_attr,
            bias_hh_attr=bias_hh_attr,
        )


class LSTM(_Network):
    """Layers of LSTM cells."""

    _cell: Any = LSTMCell
    _has_cell_state = True

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        direction: str = "forward",
        time_major: bool = False,
        dropout: float = 0.0,
        weight_ih_attr: Any = None,
        weight_hh_attr: Any = None,
        bias_ih_attr: Any = None,
        bias_hh_attr: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(
            input_size,
            hidden_size,
            num_layers,
            direction,
            time_major,
            dropout,
            weight_ih_attr=weight_ih_attr,
            weight_hh_attr=weight_hh_attr,
            bias_ih_attr=bias_ih_attr,
            bias_hh_attr=bias_hh_attr,
        )


class GRU(LSTM):
    """Layers of GRU cells."""

    _cell: Any = GRUCell
    _has_cell_state = False
