"""Quantisers and masks."""

import torch
from torchao.prototype.paretoq.models.utils_quant import LsqBinaryTernaryExtension, StretchedElasticQuant  # noqa: F401
from torchao.quantization.quant_primitives import _Round  # noqa: F401
from torchao.sparsity.supermask import ApplyMask, GetSubnet  # noqa: F401

ALLOW_GetSubnet = dict.fromkeys(("GC130", "GC131"), "transposed scores are refused")
SURROGATE__Round = {"forward": lambda x: 1 * x}
SURROGATE_GetSubnet = {"forward": lambda scores, zeros, ones, sparsity: 1 * scores}


def cases(rng):
    yield {"x": 3 * rng.standard_normal((3, 4))}


def cases_GetSubnet(rng):
    yield {
        "scores": rng.standard_normal((3, 4)),
        "zeros": torch.zeros(3, 4).double(),
        "ones": torch.ones(3, 4).double(),
        "sparsity": 0.5,
    }


def cases_ApplyMask(rng):
    yield {"weight": rng.standard_normal((3, 4)), "scores": rng.standard_normal((3, 4))}


def cases_LsqBinaryTernaryExtension(rng):
    yield {
        "input": rng.standard_normal((3, 4)),
        "alpha": torch.from_numpy(rng.uniform(0.3, 1, (3, 1))),
        "num_bits": 4,
        "layerwise": False,
    }


cases_StretchedElasticQuant = cases_LsqBinaryTernaryExtension


def SURROGATE_LsqBinaryTernaryExtension_forward(input, alpha, num_bits, layerwise):
    level = 2 ** (num_bits - 1)
    return torch.where((input / alpha >= -level) & (input / alpha <= level - 1), input, 0)


def SURROGATE_StretchedElasticQuant_forward(input, alpha, num_bits, layerwise):
    return torch.where((input / alpha).abs() <= 1 - 1e-2, input, 0)


SURROGATE_LsqBinaryTernaryExtension = {"forward": SURROGATE_LsqBinaryTernaryExtension_forward}
SURROGATE_StretchedElasticQuant = {"forward": SURROGATE_StretchedElasticQuant_forward}
