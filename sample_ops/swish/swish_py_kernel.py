"""The kernels of swish, in numpy: an op with an attribute, which kernels get as their second argument."""

import numpy as np


def sigmoid(x):
    """1 / (1 + exp(-x)), without overflow for large negative x."""
    return np.exp(-np.logaddexp(-x, 0))


def forward(args, attrs):
    """y = x / (1 + exp(-beta * x)), elementwise."""
    (x,) = args
    return x * sigmoid(attrs["beta"] * x)


def backward(args, attrs):
    """dx = dy * (s + beta * x * s * (1 - s)) with s = 1 / (1 + exp(-beta * x)), elementwise."""
    x, dy = args
    beta = attrs["beta"]
    s = sigmoid(beta * x)
    return dy * (s + beta * x * s * (1 - s))
