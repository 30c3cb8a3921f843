"""Quaternions, whose gradients are those of a small rotation from the left."""

import numpy as np
from pypose.lietensor.operation import SO3_Act, SO3_Inv, so3_Exp  # noqa: F401


def unit(rng, *shape):
    x = rng.standard_normal(shape)
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def cases_SO3_Act(rng):
    yield {"X": unit(rng, 3, 4), "p": rng.standard_normal((3, 3))}


def cases_SO3_Inv(rng):
    yield {"X": unit(rng, 3, 4)}


def cases_so3_Exp(rng):
    yield {"input": rng.standard_normal((3, 3))}
