"""Spikes of several levels, in float32, and a decay by shifts."""

import numpy as np
import torch
from rockpool.nn.modules.torch.lif_bitshift_torch import Bitshift  # noqa: F401
from rockpool.nn.modules.torch.lif_torch import PeriodicExponential, StepPWL  # noqa: F401


def SURROGATE_StepPWL_forward(x, threshold, window, max_spikes_per_dt):
    return (x / threshold).float() * (x >= threshold - window)


SURROGATE_StepPWL = {"forward": SURROGATE_StepPWL_forward}


def cases_StepPWL(rng):
    yield {
        "x": rng.uniform(-1, 4, (3, 5)).astype(np.float32),
        "threshold": torch.tensor(1.0, requires_grad=True),
        "window": torch.tensor(0.5),
    }


def cases_PeriodicExponential(rng):
    yield {"data": rng.uniform(-1, 4, (3, 5)).astype(np.float32), "threshold": 1.0, "window": 0.5}


def cases_Bitshift(rng):
    for dash in (1.0, 3.0):
        yield {"data": rng.standard_normal((3, 4)), "dash": torch.tensor(dash), "tau": torch.tensor(1 - 2**-dash)}
