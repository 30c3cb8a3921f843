"""Tests of user_relu's values, which the gradient check does not know."""

import numpy as np
import pytest
from user_relu_py_kernel import backward, forward


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_values(dtype):
    """Positive elements pass, all others become 0, and the dtype is kept."""
    y = forward((np.array([-2, 0, 3], dtype),))
    np.testing.assert_array_equal(y, np.array([0, 0, 3], dtype), strict=True)


def test_gradient_at_zero():
    """The derivative does not exist at 0; the gradient there is set to 0."""
    np.testing.assert_array_equal(backward((np.zeros(1), np.ones(1))), [0.0])
