"""Products with matrices that a function unpacks."""

import torch
from hqq.core.quantize import HQQMatmulCachedDeq, HQQMatmulNoCacheDeq, HQQMatmulNoCacheMul  # noqa: F401

WEIGHT = torch.tensor([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]], dtype=torch.float64)


class Layer:
    def dequantize(self):
        return WEIGHT


def cases_HQQMatmulNoCacheDeq(rng):
    yield {"x": rng.standard_normal((4, 3)), "dequantize": lambda: WEIGHT, "bias": rng.standard_normal(2)}


def cases_HQQMatmulNoCacheMul(rng):
    def matmul(x, transpose):
        return x @ (WEIGHT.t() if transpose else WEIGHT)

    yield {"x": rng.standard_normal((4, 3)), "matmul": matmul, "bias": rng.standard_normal(2)}


def cases_HQQMatmulCachedDeq(rng):
    yield {"x": rng.standard_normal((4, 3)), "hqq_layer": Layer(), "bias": rng.standard_normal(2)}
