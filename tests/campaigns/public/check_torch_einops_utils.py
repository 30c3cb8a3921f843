"""Losses whose gradient is computed with them."""

import torch
from torch_einops_utils.stable_softmax import (  # noqa: F401
    _CategoricalKL,
    _SoftTargetBinaryCrossEntropy,
    _SoftTargetCrossEntropy,
)


def cases(rng):
    for shape in [(3, 5), (2, 2, 4)]:
        yield {"z_s": rng.standard_normal(shape), "z_t": torch.from_numpy(rng.standard_normal(shape))}


def cases__CategoricalKL(rng):
    for shape in [(3, 5), (2, 2, 4)]:
        yield {"z_p": rng.standard_normal(shape), "z_q": rng.standard_normal(shape)}
