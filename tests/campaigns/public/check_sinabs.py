"""Spikes whose surrogate is an argument, and a quantiser."""

import torch
from sinabs.activation.quantize import Quantize  # noqa: F401
from sinabs.activation.spike_generation import SingleSpike  # noqa: F401

SURROGATE_Quantize = {"forward": lambda inp: 1 * inp}
SURROGATE_SingleSpike = {
    "forward": lambda v_mem, spike_threshold, surrogate_grad_fn: torch.tanh(v_mem - spike_threshold)
}


def bell(v_mem, threshold):
    return 1 - torch.tanh(v_mem - threshold) ** 2


def cases_Quantize(rng):
    yield {"inp": 3 * rng.standard_normal((3, 5))}


def cases_SingleSpike(rng):
    yield {"v_mem": rng.standard_normal((3, 5)), "spike_threshold": 0.5, "surrogate_grad_fn": bell}
