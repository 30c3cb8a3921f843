"""The kernels of row_softmax, in numpy."""

import numpy as np


def forward(args):
    """y = exp(x) / sum(exp(x)) over the last axis."""
    (x,) = args
    # Less the largest of the row, or exp overflows for large x.
    shares = np.exp(x - x.max(axis=-1, keepdims=True))
    return shares / shares.sum(axis=-1, keepdims=True)


def backward(args):
    """dx = y * (dy - sum(dy * y)), the sum over the last axis."""
    y, dy = args
    return y * (dy - (dy * y).sum(axis=-1, keepdims=True))
