"""Straight-through estimators of quantisers."""

import torch
from brevitas.ops.autograd_ste_ops import (  # noqa: F401
    AbsBinarySignGradFn,
    BinarySignSteFn,
    CeilSteFn,
    RoundSteFn,
    ScalarClampSteFn,
    TensorClampSteFn,
)

SURROGATE = {"forward": lambda x: 1 * x}
SURROGATE_ScalarClampSteFn = SURROGATE_TensorClampSteFn = {"forward": lambda x, min_val, max_val: 1 * x}
SURROGATE_AbsBinarySignGradFn = None


def cases(rng):
    yield {"x": 3 * rng.standard_normal((3, 5))}


def cases_ScalarClampSteFn(rng):
    yield {"x": rng.standard_normal((3, 5)), "min_val": -0.5, "max_val": 0.8}


def cases_TensorClampSteFn(rng):
    bounds = {"min_val": torch.tensor(-0.5).double(), "max_val": torch.tensor(0.8).double()}
    yield {"x": torch.from_numpy(rng.standard_normal((3, 5))).requires_grad_(), **bounds}
