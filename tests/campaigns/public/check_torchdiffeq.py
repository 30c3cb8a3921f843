"""Gradients that take another way than the values, and a write that torch does not see."""

import numpy as np
from torchdiffeq._impl.misc import _StitchGradient  # noqa: F401
from torchdiffeq._impl.rk_common import _UncheckedAssign  # noqa: F401

SURROGATE__StitchGradient = {"forward": lambda x1, out: 1 * x1}


def cases__StitchGradient(rng):
    x = rng.standard_normal((2, 3))
    yield {"x1": x, "out": np.nextafter(x, 9)}


def cases__UncheckedAssign(rng):
    yield {"scratch": rng.standard_normal((3, 4)), "value": rng.standard_normal(3), "index": (slice(None), 1)}
