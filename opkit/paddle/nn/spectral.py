"""``spectral_norm``: a layer's weight over its largest singular value at each forward (Miyato et al. 2018)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.errors import UsageError
from opkit.paddle.nn.initializer import Normal
from opkit.paddle.nn.layer.common import Linear
from opkit.paddle.nn.layer.conv import Conv1DTranspose, Conv2DTranspose, Conv3DTranspose
from opkit.paddle.semantics import builders as ops


class _SpectralNorm:
    """Divides a weight by its largest singular value, found by power iteration that goes on in training.

    Args:
        name: the attribute.
        iterations: steps of the power iteration at each forward.
        dim: the axis that counts as the matrix's rows.
        eps: keeps the norms from 0.
    """

    def __init__(self, name: str, iterations: int, dim: int, eps: float) -> None:
        self.name, self.iterations, self.dim, self.eps = name, iterations, dim, eps

    def matrix(self, weight: Any) -> Any:
        order = [self.dim, *(axis for axis in range(weight.ndim) if axis != self.dim)]
        return ops.reshape(ops.transpose(weight, order), [weight.shape[self.dim], -1])

    def normal(self, vector: ndarray) -> ndarray:
        return vector / max(float(np.linalg.norm(vector)), self.eps)

    def weight(self, layer: Any, advance: bool) -> Any:
        weight = getattr(layer, f"{self.name}_orig")
        u, v = getattr(layer, f"{self.name}_u"), getattr(layer, f"{self.name}_v")
        matrix = self.matrix(weight)
        if advance:
            for _ in range(self.iterations):
                v.set_value(self.normal(matrix._data.T @ u._data))
                u.set_value(self.normal(matrix._data @ v._data))
        left, right = ops.literal(u._data.copy()), ops.literal(v._data.copy())
        largest = ops.reduce_sum(ops.mul(left, ops.reshape(ops.matmul(matrix, ops.reshape(right, [-1, 1])), [-1])))
        return ops.div(weight, largest)

    def split(self, layer: Any) -> None:
        weight = layer._parameters.pop(self.name)
        rows, columns = self.matrix(weight.detach()).shape
        layer.add_parameter(f"{self.name}_orig", weight)
        for suffix, size in (("u", rows), ("v", columns)):
            start = layer.create_parameter([size], default_initializer=Normal(0.0, 1.0))
            start.stop_gradient = True
            start.set_value(self.normal(start._data))
            start.is_parameter = False
            layer.register_buffer(f"{self.name}_{suffix}", start)
        object.__setattr__(layer, self.name, weight.detach())

    def __call__(self, layer: Any, inputs: Any) -> None:
        object.__setattr__(layer, self.name, self.weight(layer, layer.training))


def spectral_norm(
    layer: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a layer's weight by its largest singular value before each forward.

    Args:
        layer: the layer; it gets the parameter ``NAME_orig`` and the buffers ``NAME_u`` and ``NAME_v``.
        name: the attribute.
        n_power_iterations: steps of the power iteration at each forward in training.
        eps: keeps the norms of its vectors from 0.
        dim: the axis that counts as the matrix's rows; left out: 1 for Linear and transposed convolutions, else 0.

    Raises:
        UsageError: there are no steps.
        RuntimeError: the weight has a spectral norm.

    Source: Paddle 2.6, paddle.nn.utils.spectral_norm.
    """
    if n_power_iterations <= 0:
        raise UsageError(f"spectral_norm: n_power_iterations must be positive, got {n_power_iterations}")
    if any(isinstance(hook, _SpectralNorm) and hook.name == name for hook in layer._pre_hooks.values()):
        raise RuntimeError(f"spectral_norm: {name!r} of {type(layer).__name__} has one already")
    turned = (Conv1DTranspose, Conv2DTranspose, Conv3DTranspose, Linear)
    axis = dim if dim is not None else 1 if isinstance(layer, turned) else 0
    kind = _SpectralNorm(name, n_power_iterations, axis, eps)
    kind.split(layer)
    layer.register_forward_pre_hook(kind)
    return layer
