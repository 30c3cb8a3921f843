"""Quiet kernels: their infinities warn of nothing, what a user computes still does, and they may meet themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit import ops
from opkit.eager import PyLayer, Tensor
from opkit.ops.core.mode import local


def gradient_of_log(x: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return log(x) and its gradient."""
    leaf = Tensor(x, stop_gradient=False)
    y = ops.log(leaf)
    y.backward()  # type: ignore[attr-defined]
    return y._data, leaf.grad


def test_infinities_of_ops_and_gradients_are_no_warnings() -> None:
    """log(0) is -inf, and its gradient inf, without a word."""
    y, grad = gradient_of_log(np.zeros(2))
    assert np.isneginf(y).all()
    assert np.isposinf(grad._data).all()


def test_an_op_inside_a_quiet_kernel_runs() -> None:
    """A finalizer or a debugger may come in while a kernel runs: ops and gradients are computed all the same."""
    y, grad = local.mode.quietly(gradient_of_log, np.full(2, 2.0))
    np.testing.assert_array_equal(y, np.log([2.0, 2.0]))
    np.testing.assert_array_equal(grad._data, [0.5, 0.5])


def test_accumulation_inside_a_quiet_kernel_runs() -> None:
    """Gradients of two uses are added there too."""

    def twice() -> Any:
        leaf = Tensor(np.ones(2), stop_gradient=False)
        ops.add(ops.exp(leaf), ops.mul(leaf, 2.0)).backward()
        ops.mul(leaf, 3.0).backward()
        return leaf.grad

    np.testing.assert_allclose(local.mode.quietly(twice)._data, np.e + 5)


def test_what_a_users_backward_computes_warns() -> None:
    """The walk does not switch a user's warnings off."""

    class Halved(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return ops.mul(x, 0.5)

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            np.log(np.zeros(1))
            return ops.mul(dy, 0.5)

    leaf = Tensor(np.ones(2), stop_gradient=False)
    y = ops.exp(Halved.apply(ops.exp(leaf)))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        y.backward()
