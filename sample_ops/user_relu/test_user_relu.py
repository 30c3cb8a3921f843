"""Values of user_relu, which its gradient check cannot know."""

import numpy as np
import pytest
from user_relu_py_kernel import backward, forward


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_values(dtype):
    """Positive elements pass, all others become 0, and the dtype stays."""
    y = forward((np.array([-2, 0, 3], dtype),))
    np.testing.assert_array_equal(y, np.array([0, 0, 3], dtype), strict=True)


def test_gradient_at_zero():
    """The gradient at 0, where there is none, is taken to be 0."""
    np.testing.assert_array_equal(backward((np.zeros(1), np.ones(1))), [0.0])
