"""The kernel of decay in numpy."""

import numpy as np


def forward(args):
    """The cumulative sum that forgets a tenth at each step."""
    (x,) = args
    y = np.empty_like(x)
    total, keep = x.dtype.type(0), x.dtype.type(0.9)
    for i in range(x.size):
        total = keep * total + x[i]
        y[i] = total
    return y
