"""Rotations and their vectors, by class methods that take any arguments."""

import numpy as np
from torchlie.functional.so3_impl import Compose, Exp, Hat, TransformFrom, Vee  # noqa: F401


def rotations(rng):
    return np.linalg.qr(rng.standard_normal((2, 3, 3)))[0] * np.ones((2, 1, 1))


def turned(rng):
    found = rotations(rng)
    return found * np.sign(np.linalg.det(found))[:, None, None]


def cases_Exp(rng):
    yield {"args": [rng.standard_normal((2, 3))]}


cases_Hat = cases_Exp


def cases_Vee(rng):
    root = rng.standard_normal((2, 3, 3))
    yield {"args": [root - root.swapaxes(-1, -2)]}


def cases_Compose(rng):
    yield {"args": [turned(rng), turned(rng)]}


def cases_TransformFrom(rng):
    yield {"args": [turned(rng), rng.standard_normal((2, 3))]}
