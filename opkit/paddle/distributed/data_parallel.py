"""``DataParallel``: the wrapper around a network that is copied over processes; with one process it only calls it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from opkit.paddle.nn.layer.layers import Layer


class DataParallel(Layer):
    """A network and the reduction of its gradients over all processes, which of one process changes nothing.

    Args:
        layers: the network.
        strategy: accepted, without effect, like the sizes of buffers and ``group``.
        comm_buffer_size: accepted, without effect.
        last_comm_buffer_size: accepted, without effect.
        find_unused_parameters: accepted, without effect.
        group: accepted, without effect.

    Its state dict has the network's own names; its parameters' names begin with ``_layers.``, as in Paddle.
    Other attributes of the network are reached through ``_layers``.
    """

    def __init__(
        self,
        layers: Any,
        strategy: Any = None,
        comm_buffer_size: int = 25,
        last_comm_buffer_size: float = 1,
        find_unused_parameters: bool = False,
        group: Any = None,
    ) -> None:
        if not isinstance(layers, Layer):
            raise TypeError(f"DataParallel takes a Layer, got {type(layers).__name__}")
        super().__init__(layers.full_name() + "_data_parallel")
        self._layers = layers
        self.find_unused_parameters = find_unused_parameters
        self.grad_need_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the network."""
        return self._layers(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """Leave gradients unreduced within the block; nothing is reduced anyway."""
        before, self.grad_need_sync = self.grad_need_sync, False
        try:
            yield
        finally:
            self.grad_need_sync = before

    def scale_loss(self, loss: Any) -> Any:
        """Return the loss, which is divided by the number of processes: by one."""
        return loss

    def apply_collective_grads(self) -> None:
        """Reduce the gradients over all processes: they stay as they are."""

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        """Return the network's parameters and persistable buffers by its own dotted names."""
        return self._layers.state_dict(*args, **kwargs)

    def set_state_dict(self, state_dict: Mapping[str, Any], use_structured_name: bool = True) -> Any:
        """Load the network's parameters and buffers; see ``Layer.set_state_dict``."""
        return self._layers.set_state_dict(state_dict, use_structured_name)

    set_dict = set_state_dict
    load_dict = set_state_dict
