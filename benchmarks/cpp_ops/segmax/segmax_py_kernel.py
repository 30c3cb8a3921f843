"""The kernel of segmax in numpy."""

import numpy as np


def forward(args):
    """The largest element of each of 1,024 segments."""
    x, segment = args
    y = np.full(1024, -np.inf, x.dtype)
    np.maximum.at(y, segment, x)
    return y
