"""The kernel of bilateral in numpy."""

import numpy as np


def forward(args):
    """The mean of 5 by 5 neighbours, weighted by how near and how like each is."""
    (x,) = args
    padded = np.pad(x, 2, mode="edge")
    height, width = x.shape
    above, below = np.zeros_like(x), np.zeros_like(x)
    for i in range(5):
        for j in range(5):
            near = padded[i : i + height, j : j + width]
            far = x.dtype.type(0.25 * ((i - 2) ** 2 + (j - 2) ** 2))
            weight = np.exp(-np.square(near - x) * x.dtype.type(8) - far)
            above += weight * near
            below += weight
    return above / below
