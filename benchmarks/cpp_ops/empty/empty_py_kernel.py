"""The kernel of empty in numpy: memory for a result, and nothing in it."""

import numpy as np


def forward(args):
    """Compute nothing."""
    return np.empty_like(args[0])
