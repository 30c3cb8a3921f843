"""Cells along time, and networks of them: simple, LSTM, GRU. The cells are in ``cells``."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

from opkit.errors import UsageError
from opkit.ops.core.types import Ints, Name
from opkit.ops.core.value import known_size
from opkit.paddle.nn import functional
from opkit.paddle.nn.layer.cells import GRUCell, LSTMCell
from opkit.paddle.nn.layer.container import LayerList
from opkit.paddle.nn.layer.declared import DeclaredLayer, declared
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.semantics import builders as ops

__all__ = ["GRU", "LSTM", "RNN", "BiRNN"]


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
