"""Linear maps of quaternions, and vectors from a codebook."""

import torch
from speechbrain.lobes.models.PIQ import VectorQuantizationStraightThrough  # noqa: F401
from speechbrain.nnet.quaternion_networks.q_ops import QuaternionLinearCustomBackward  # noqa: F401

ALLOW_VectorQuantizationStraightThrough = dict.fromkeys(("GC130", "GC131"), "transposed inputs are refused")


def SURROGATE_VectorQuantizationStraightThrough_forward(
    inputs, codebook, labels, num_classes, activate_class_partitioning, shared_keys, training
):
    near = torch.cdist(inputs.reshape(-1, inputs.shape[-1]), codebook).argmin(1).detach()
    return inputs + codebook[near].view_as(inputs), near


SURROGATE_VectorQuantizationStraightThrough = {"forward": SURROGATE_VectorQuantizationStraightThrough_forward}


def cases_QuaternionLinearCustomBackward(rng):
    for rows, ins, outs in [(3, 2, 1), (2, 1, 3)]:
        weights = [rng.standard_normal((ins, outs)) for _ in range(4)]
        yield {
            "input": rng.standard_normal((rows, 4 * ins)),
            **dict(zip(("r_weight", "i_weight", "j_weight", "k_weight"), weights)),
            "bias": rng.standard_normal(4 * outs),
        }


def cases_VectorQuantizationStraightThrough(rng):
    yield {
        "inputs": rng.standard_normal((2, 2, 3, 4)),
        "codebook": rng.standard_normal((5, 4)),
        "labels": torch.zeros(2),
        "num_classes": 2,
        "activate_class_partitioning": False,
        "shared_keys": 1,
        "training": True,
    }
