"""Tests of squared_distance's values, which the gradient check does not know."""

import numpy as np
from squared_distance_py_kernel import forward


def test_values():
    """The distance of a value to itself is 0, and the order of two values does not matter."""
    a, b = np.array([1.0, -2.0, 3.0]), np.array([1.0, 2.0, 0.5])
    np.testing.assert_array_equal(forward((a, b)), [0.0, 16.0, 6.25])
    np.testing.assert_array_equal(forward((a, b)), forward((b, a)))
