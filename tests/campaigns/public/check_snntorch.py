"""Spikes, times of spikes, and quantised states."""

import torch
from snntorch.functional.loss import SpikeTime
from snntorch.functional.quant import StateQuant  # noqa: F401
from snntorch.surrogate import (  # noqa: F401
    ATan,
    FastSigmoid,
    LeakySpikeOperator,
    Sigmoid,
    SparseFastSigmoid,
    StraightThroughEstimator,
    Triangular,
)

Tolerance = SpikeTime.Tolerance
SURROGATE_StraightThroughEstimator = {"forward": lambda input_: 1 * input_}
SURROGATE_Triangular = {"forward": lambda input_, threshold: -threshold * input_.abs()}
SURROGATE_FastSigmoid = {"forward": lambda input_, slope: input_ / (1 + slope * input_.abs())}
SURROGATE_ATan = {"forward": lambda input_, alpha: torch.atan(torch.pi / 2 * alpha * input_) / torch.pi}
SURROGATE_Sigmoid = {"forward": lambda input_, slope: torch.sigmoid(slope * input_)}
SURROGATE_StateQuant = {"forward": lambda input_, levels: 1 * input_}
SURROGATE_Tolerance = {"forward": lambda spk_time, target, tolerance: 1 * spk_time}


def SURROGATE_SparseFastSigmoid_forward(input_, slope, B):
    edge = B / (1 + slope * abs(B))
    return torch.where(input_ > B, input_ / (1 + slope * input_.abs()), edge)


SURROGATE_SparseFastSigmoid = {"forward": SURROGATE_SparseFastSigmoid_forward}


def cases_StraightThroughEstimator(rng):
    yield {"input_": rng.standard_normal((3, 5))}


def cases_FastSigmoid(rng):
    yield {"input_": rng.standard_normal((3, 5)), "slope": 2.0}


cases_Sigmoid = cases_LeakySpikeOperator = cases_FastSigmoid


def cases_Triangular(rng):
    yield {"input_": rng.standard_normal((3, 5)), "threshold": 0.8}


def cases_ATan(rng):
    yield {"input_": rng.standard_normal((3, 5)), "alpha": 2.0}


def cases_SparseFastSigmoid(rng):
    yield {"input_": rng.standard_normal((3, 5)), "slope": 2.0, "B": -0.5}


def cases_StateQuant(rng):
    yield {
        "input_": torch.from_numpy(rng.standard_normal((3, 5))).requires_grad_(),
        "levels": torch.linspace(-2, 2, 5).double(),
    }


def cases_Tolerance(rng):
    yield {"spk_time": rng.uniform(0, 9, (3, 5)), "target": 5.0, "tolerance": 2.0}
