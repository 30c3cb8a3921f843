"""Gradient reversal."""

import torch
from pytorch_revgrad.functional import RevGrad  # noqa: F401

SURROGATE = {"forward": lambda input_, alpha_: -alpha_ * input_}


def cases(rng):
    yield {
        "input_": torch.from_numpy(rng.standard_normal((3, 4))).requires_grad_(),
        "alpha_": torch.tensor(0.7, dtype=torch.float64),
    }
