"""Recurrent cells: simple, LSTM, GRU (what runs them along time is in ``recurrent``)."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.ops.composed import layers
from opkit.ops.core.types import Name
from opkit.paddle.framework.defaults import default_dtype
from opkit.paddle.nn.initializer import Constant, Uniform
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.semantics import builders as ops

__all__ = ["GRUCell", "LSTMCell", "RNNCellBase"]


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
