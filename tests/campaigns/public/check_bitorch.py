"""Signs and clipped activations of few bits."""

import torch
from bitorch.layers.pact import PactActFn  # noqa: F401
from bitorch.layers.qactivation import GradientCancellation  # noqa: F401
from bitorch.quantizations.approx_sign import ApproxSignFunction  # noqa: F401
from bitorch.quantizations.dorefa import InputDoReFaFunction  # noqa: F401

SURROGATE_ApproxSignFunction = {
    "forward": lambda input_tensor: 2 * _bounded(input_tensor) - _bounded(input_tensor) * _bounded(input_tensor).abs()
}
SURROGATE_GradientCancellation = {"forward": lambda input_tensor, threshold: input_tensor.clamp(-threshold, threshold)}
SURROGATE_InputDoReFaFunction = {"forward": lambda input_tensor, bits: 1 * input_tensor}
SURROGATE_PactActFn = {"forward": lambda input_tensor, alpha, bits: torch.minimum(input_tensor.clamp(min=0), alpha)}


def _bounded(x):
    return x.clamp(-1, 1)


def cases_ApproxSignFunction(rng):
    yield {"input_tensor": rng.standard_normal((3, 5))}


def cases_GradientCancellation(rng):
    yield {"input_tensor": rng.standard_normal((3, 5)), "threshold": 0.8}


def cases_InputDoReFaFunction(rng):
    yield {"input_tensor": rng.uniform(-0.2, 1.2, (3, 5)), "bits": 2}


def cases_PactActFn(rng):
    yield {"input_tensor": rng.standard_normal((3, 5)), "alpha": rng.uniform(0.8, 1.2, 1), "bits": 3}
