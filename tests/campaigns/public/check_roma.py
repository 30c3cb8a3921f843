"""Rotations nearest to matrices."""

import numpy as np
from roma.mappings import _HornEigenvectorManualDerivatives, _ProcrustesManualDerivatives, _ProcrustesRegularization  # noqa: F401


def cases__ProcrustesManualDerivatives(rng):
    for force in (False, True):
        yield {"M": rng.standard_normal((2, 3, 3)) + 2 * np.eye(3), "force_rotation": force, "gradient_eps": 1e-9}


def cases__HornEigenvectorManualDerivatives(rng):
    yield {"M": rng.standard_normal((2, 3, 3)) + 2 * np.eye(3), "gradient_eps": 1e-9}


def cases__ProcrustesRegularization(rng):
    yield {"M": rng.standard_normal((2, 3, 3)), "R": rng.standard_normal((2, 3, 3)), "regularization": 0.5}
