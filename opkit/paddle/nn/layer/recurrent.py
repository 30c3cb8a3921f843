"""Recurrent cells: simple, LSTM, GRU; cells along time, and networks of them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from opkit.errors import UsageError
from opkit.ops.composed import layers
from opkit.ops.core.types import Ints, Name
from opkit.ops.core.value import known_size
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.nn import functional
from opkit.paddle.nn.initializer import Constant, Uniform
from opkit.paddle.nn.layer.container import LayerList
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.semantics import builders as ops

__all__ = [
    "BiRNN",
    "GRU",
    "GRUCell",
    "LSTM",
    "LSTMCell",
    "RNN",
    "RNNCellBase",
]


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


@declared
class _Cell(DeclaredLayer, RNNCellBase):
    _gates = 1

    input_size: int
    hidden_size: int

    def _begin(self) -> None:
        Layer.__init__(self, dtype=default_dtype())

    def __post_init__(self) -> None:
        if self.hidden_size <= 0:
            raise UsageError(f"{type(self).__name__}: hidden_size must be positive, got {self.hidden_size}")
        rows = self._gates * self.hidden_size
        self.weight_ih = self._drawn("weight_ih", [rows, self.input_size], 1.0)
        self.weight_hh = self._drawn("weight_hh", [rows, self.hidden_size], 1.0)
        self.bias_ih = self._drawn("bias_ih", [rows], 0.0)
        self.bias_hh = self._drawn("bias_hh", [rows], 0.0)

    def _drawn(self, name: str, shape: list[int], fixed: float) -> Any:
        """Return a parameter drawn from Paddle's uniform distribution; with ``attr=False``, a fixed number."""
        attr, bound = vars(self)[f"{name}_attr"], 1.0 / float(np.sqrt(self.hidden_size))
        start = Uniform(-bound, bound) if attr is not False else Constant(fixed)
        return self._fixed_or_trained(shape, attr, start, is_bias=name.startswith("bias"))

    @property
    def state_shape(self) -> Any:
        """The shape of a sample's state."""
        return (self.hidden_size,)

    def _from_input(self, inputs: Any) -> Any:
        return layers.linear_map(inputs, self.weight_ih, self.bias_ih)

    def _from_state(self, state: Any) -> Any:
        return layers.linear_map(state, self.weight_hh, self.bias_hh)

    def extra_repr(self) -> str:
        """Return the sizes."""
        return f"{self.input_size}, {self.hidden_size}"


@declared
class _GatedCell(_Cell):
    weight_ih_attr: Any = None
    weight_hh_attr: Any = None
    bias_ih_attr: Any = None
    bias_hh_attr: Any = None
    name: Name = None


class LSTMCell(_GatedCell):
    """Long short-term memory (Hochreiter and Schmidhuber 1997): gates i, f, g, o in the rows of the weights."""

    _gates = 4

    @property
    def state_shape(self) -> Any:
        """The shapes of a sample's states h and c."""
        return (self.hidden_size,), (self.hidden_size,)

    def forward(self, inputs: Any, states: Any = None) -> tuple[Any, Any]:
        """Return h, and the pair of h and c."""
        hidden, cell = self.get_initial_states(inputs) if states is None else states
        new, new_cell = layers.lstm_step(ops.add(self._from_input(inputs), self._from_state(hidden)), cell)
        return new, (new, new_cell)


class GRUCell(_GatedCell):
    """Gated recurrent unit (Cho et al. 2014): gates r, z, c in the rows of the weights."""

    _gates = 3

    def forward(self, inputs: Any, states: Any = None) -> tuple[Any, Any]:
        """Return the new state, twice."""
        state = self.get_initial_states(inputs) if states is None else states
        new = layers.gru_step(self._from_input(inputs), self._from_state(state), state)
        return new, new


# ---- along time ------------------------------------------------------------------------------------------------------
def _mapped(function: Any, *trees: Any) -> Any:
    """Return the nested tuples of what a function returns for the values of equally nested ones."""
    if isinstance(trees[0], (list, tuple)):
        return tuple(_mapped(function, *items) for items in zip(*trees))
    return function(*trees)


def _steps(cell: Any, inputs: Any, states: Any, lengths: Any, time_axis: int, is_reverse: bool) -> tuple[Any, Any]:
    slices = ops.unstack(inputs, time_axis)
    if not slices:
        known_size(inputs, time_axis, "a recurrent layer")
    masks = [None] * len(slices)
    if lengths is not None:
        within = [ops.less(ops.constant(k, (), lengths._data.dtype.name), lengths) for k in range(len(slices))]
        masks = [ops.expand_dims(item, -1) for item in within]
    outputs: list[Any] = [None] * len(slices)
    order: Ints = range(len(slices))
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
            sequence_length: ``(N,)``: beyond it outputs are 0 and states stay.
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
@declared
class _Network(DeclaredLayer, LayerList):
    """Layers of cells; each network declares what its cells take besides."""

    _cell: ClassVar[Any] = None
    _has_cell_state: ClassVar[bool] = False

    input_size: int
    hidden_size: int
    num_layers: int = 1
    direction: str = "forward"
    time_major: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if self.direction not in ("forward", "bidirect", "bidirectional"):
            raise UsageError(f"direction is 'forward', 'bidirect' or 'bidirectional', got {self.direction!r}")
        self.num_directions = 1 if self.direction == "forward" else 2
        own = {item.name for item in fields(_Network)}
        of_cells = {name: value for name, value in self._arguments().items() if name not in own}
        for k in range(self.num_layers):
            size = self.input_size if k == 0 else self.hidden_size * self.num_directions
            cells = [self._cell(size, self.hidden_size, **of_cells) for _ in range(self.num_directions)]
            is_single = len(cells) == 1
            self.append(
                RNN(cells[0], False, self.time_major) if is_single else BiRNN(cells[0], cells[1], self.time_major)
            )
            for cell, suffix in zip(cells, ("", "_reverse")):
                for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
                    setattr(self, f"{part}_l{k}{suffix}", getattr(cell, part))

    def forward(self, inputs: Any, initial_states: Any = None, sequence_length: Any = None) -> tuple[Any, Any]:
        """Return the outputs of the last layer and the last states of all.

        Args:
            inputs: ``(N, steps, input_size)``, or ``(steps, N, input_size)`` with ``time_major``.
            initial_states: ``(layers * directions, N, hidden_size)``, of an LSTM a pair of such; zeros where left out.
            sequence_length: ``(N,)``: beyond it outputs are 0 and states stay.
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


@declared
class _GatedNetwork(_Network):
    weight_ih_attr: Any = None
    weight_hh_attr: Any = None
    bias_ih_attr: Any = None
    bias_hh_attr: Any = None
    name: Name = None


class LSTM(_GatedNetwork):
    """Layers of LSTM cells."""

    _cell = LSTMCell
    _has_cell_state = True


class GRU(_GatedNetwork):
    """Layers of GRU cells."""

    _cell = GRUCell
