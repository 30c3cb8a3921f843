"""``paddle.incubate``: fused linear functions have the values and gradients of what they are composed of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.paddle.incubate.nn import FusedLinear
from opkit.paddle.incubate.nn import functional as fused
from opkit.paddle.nn import functional


def _drawn(*shape: int) -> Any:
    x = paddle.to_tensor(np.random.default_rng(len(shape)).normal(size=shape))
    x.stop_gradient = False
    return x


@pytest.mark.parametrize("with_bias", [True, False])
def test_fused_linear_is_linear(with_bias: bool) -> None:
    """With a bias and without, and with a transposed weight."""
    x, weight, bias = _drawn(2, 5, 3), _drawn(3, 4), _drawn(4) if with_bias else None
    expected = functional.linear(x, weight, bias).numpy()
    assert np.allclose(fused.fused_linear(x, weight, bias).numpy(), expected)
    assert np.allclose(fused.fused_linear(x, weight.t(), bias, transpose_weight=True).numpy(), expected)



def test_the_fused_gradient_adds_up() -> None:
    """Gradients of weight and bias are those of backward, added to the ones that are given."""
    x, weight, bias, dy = _drawn(2, 5, 3), _drawn(3, 4), _drawn(4), _drawn(2, 5, 4).detach()
    (functional.linear(x, weight, bias) * dy).sum().backward()
    first = paddle._C_ops.fused_linear_param_grad_add(x, dy, None, None, True, True)
    again = paddle._C_ops.fused_linear_param_grad_add(x, dy, *first, True, True)
    for got, wanted in zip(again, (weight.grad, bias.grad), strict=True):
        assert got.stop_gradient
        assert np.allclose(got.numpy(), 2 * wanted.numpy())
    assert paddle._C_ops.fused_linear_param_grad_add(x, dy, None, None, True, False)[1] is None


def test_the_layer_trains() -> None:
    """FusedLinear has weight and bias as parameters, and the weight's shape that is asked for."""
    layer = FusedLinear(3, 4, transpose_weight=True)
    layer(_drawn(2, 3).astype("float32")).sum().backward()
    assert [(p.shape, p.grad.shape) for p in layer.parameters()] == [([4, 3], [4, 3]), ([4], [4])]
