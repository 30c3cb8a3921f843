"""Spikes, with a random one among them."""

import torch
from norse.torch.functional.superspike import SuperSpike  # noqa: F401
from norse.torch.functional.threshold import HeaviCirc, HeaviErfc, HeaviTanh, Logistic, Triangle  # noqa: F401

SURROGATE_HeaviErfc = {"forward": lambda x, k: torch.erf(k * x) / k}
TOLERANCE_HeaviErfc = {"x": 1e-7}  # its pi is of float32
SURROGATE_HeaviTanh = SURROGATE_Logistic = {"forward": lambda x, k: torch.tanh(k * x) / k}
SURROGATE_HeaviCirc = {"forward": lambda x, alpha: alpha * x / torch.sqrt(alpha**2 + x**2)}
SURROGATE_Triangle = {"forward": lambda x, alpha: alpha * (x.clamp(-1, 1) - x.clamp(-1, 1) * x.clamp(-1, 1).abs() / 2)}
SURROGATE_SuperSpike = {"forward": lambda input_tensor, alpha: input_tensor / (1 + input_tensor.abs())}


def cases_HeaviErfc(rng):
    yield {"x": rng.standard_normal((3, 5)), "k": 0.7}


cases_HeaviTanh = cases_Logistic = cases_HeaviErfc


def cases_HeaviCirc(rng):
    yield {"x": rng.standard_normal((3, 5)), "alpha": 0.8}


cases_Triangle = cases_HeaviCirc


def cases_SuperSpike(rng):
    yield {"input_tensor": rng.standard_normal((3, 5)), "alpha": 100.0}
