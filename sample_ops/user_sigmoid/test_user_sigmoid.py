"""Tests of user_sigmoid's values, which the gradient check does not know."""

import numpy as np
from user_sigmoid_py_kernel import forward


def test_values():
    """sigmoid(0) is a half, and sigmoid(x) + sigmoid(-x) is 1."""
    x = np.linspace(-30, 30, 61)
    y = forward((x,))
    np.testing.assert_allclose(y[30], 0.5, rtol=1e-15)
    np.testing.assert_allclose(y + y[::-1], 1.0, rtol=1e-12)


def test_large_inputs():
    """Large inputs saturate and do not overflow."""
    np.testing.assert_array_equal(forward((np.array([-1000.0, 1000.0]),)), [0.0, 1.0])
