"""Tests of swish's values, which the gradient check does not know."""

import numpy as np
from swish_py_kernel import forward


def test_beta_zero():
    """With beta 0 the result is half of the input."""
    x = np.array([-2.0, 0.0, 3.0])
    np.testing.assert_allclose(forward((x,), {"beta": 0.0}), x / 2)


def test_large_beta():
    """With a large beta little differs from relu."""
    np.testing.assert_allclose(forward((np.array([-3.0, 3.0]),), {"beta": 100.0}), [0.0, 3.0], atol=1e-12)
