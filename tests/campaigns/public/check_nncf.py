"""Thresholds and quantisers with learnt ranges."""

import numpy as np
from nncf.torch.functions import STThreshold  # noqa: F401
from nncf.torch.quantization.quantize_functions import TuneRange  # noqa: F401

SURROGATE_STThreshold = {"forward": lambda input_, threshold: 1 * input_}


def cases_STThreshold(rng):
    yield {"input_": rng.uniform(0, 1, (3, 4)), "threshold": 0.5}


def cases_TuneRange(rng):
    yield {"input_low": np.array([-1.3, -0.4]), "input_range": np.array([2.9, 3.1]), "levels": 16}
