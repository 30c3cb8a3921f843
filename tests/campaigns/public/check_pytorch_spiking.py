"""Spikes of any activation, which write into their first state."""

import torch
from pytorch_spiking.functional import SpikingActivation  # noqa: F401

INPLACE = ("initial_state",)


def SURROGATE_forward(inputs, activation, dt, initial_state, spiking_aware_training, return_sequences, training):
    return activation(inputs if return_sequences else inputs[:, -1])


SURROGATE = {"forward": SURROGATE_forward}


def cases(rng):
    for whole in (False, True):
        yield {
            "inputs": rng.uniform(1, 3, (2, 4, 3)),
            "activation": torch.sigmoid,
            "dt": 0.5,
            "initial_state": torch.from_numpy(rng.uniform(0, 1, (2, 3))),
            "spiking_aware_training": True,
            "return_sequences": whole,
        }
