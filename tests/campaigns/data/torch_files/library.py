"""Correct library ops: ``torch.library.custom_op`` with register_autograd and register_fake."""

from typing import List, Optional

import numpy as np
import torch
from torch.library import custom_op


@custom_op("right::scale", mutates_args=())
def scale(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
    return x * k


@scale.register_fake
def _(x, k=2.0):
    return torch.empty_like(x)


def _scale_setup(ctx, inputs, output):
    ctx.k = inputs[1]


scale.register_autograd(lambda ctx, g: (g * ctx.k, None), setup_context=_scale_setup)


@custom_op("right::row_sum", mutates_args=())
def row_sum(x: torch.Tensor) -> torch.Tensor:
    return x.sum(-1)


@row_sum.register_fake
def _(x):
    return x.new_empty(x.shape[:-1])


def _row_setup(ctx, inputs, output):
    ctx.shape = inputs[0].shape


row_sum.register_autograd(lambda ctx, g: g.unsqueeze(-1).expand(ctx.shape), setup_context=_row_setup)


@custom_op("right::numpy_sin", mutates_args=())
def numpy_sin(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.sin(x.detach().cpu().numpy(), order="C")).to(x.device)


@numpy_sin.register_fake
def _(x):
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _save(ctx, inputs, output):
    ctx.save_for_backward(*[item for item in inputs if isinstance(item, torch.Tensor)])


def _sin_back(ctx, g):
    (x,) = ctx.saved_tensors
    return g * x.cos()


numpy_sin.register_autograd(_sin_back, setup_context=_save)


@custom_op("right::mm", mutates_args=())
def mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.mm(a, b)


@mm.register_fake
def _(a, b):
    return a.new_empty(a.shape[0], b.shape[1])


def _mm_back(ctx, g):
    a, b = ctx.saved_tensors
    return g @ b.t(), a.t() @ g


mm.register_autograd(_mm_back, setup_context=_save)


@custom_op("right::linear", mutates_args=())
def linear(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    y = x @ weight.t()
    return y if bias is None else y + bias


@linear.register_fake
def _(x, weight, bias=None):
    return x.new_empty(x.shape[0], weight.shape[0])


def _linear_setup(ctx, inputs, output):
    x, weight, bias = inputs
    ctx.save_for_backward(x, weight)
    ctx.has_bias = bias is not None


def _linear_back(ctx, g):
    x, weight = ctx.saved_tensors
    return g @ weight, g.t() @ x, g.sum(0) if ctx.has_bias else None


linear.register_autograd(_linear_back, setup_context=_linear_setup)


def cases_linear(rng):
    yield {"x": rng.standard_normal((3, 4)), "weight": rng.standard_normal((2, 4)), "bias": rng.standard_normal(2)}
    yield {"x": rng.standard_normal((1, 4)), "weight": rng.standard_normal((2, 4)), "bias": None}


@custom_op("right::two", mutates_args=())
def two(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return x.sin(), x.sum()


@two.register_fake
def _(x):
    return torch.empty_like(x), x.new_empty(())


def _two_back(ctx, g, h):
    (x,) = ctx.saved_tensors
    return g * x.cos() + h


two.register_autograd(_two_back, setup_context=_save)


@custom_op("right::cat", mutates_args=())
def cat(tensors: List[torch.Tensor]) -> torch.Tensor:
    return torch.cat(tensors, 0)


@cat.register_fake
def _(tensors):
    first = tensors[0]
    return first.new_empty(sum(t.shape[0] for t in tensors), *first.shape[1:])


def _cat_setup(ctx, inputs, output):
    ctx.sizes = [t.shape[0] for t in inputs[0]]


cat.register_autograd(lambda ctx, g: list(g.split(ctx.sizes, 0)), setup_context=_cat_setup)


def cases_cat(rng):
    yield {"tensors": [rng.standard_normal((n, 3)) for n in (2, 1, 4)]}


@custom_op("right::take", mutates_args=())
def take(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
    return x[index]


@take.register_fake
def _(x, index):
    return x.new_empty(*index.shape, *x.shape[1:])


def _take_setup(ctx, inputs, output):
    ctx.shape = inputs[0].shape
    ctx.save_for_backward(inputs[1])


def _take_back(ctx, g):
    (index,) = ctx.saved_tensors
    return g.new_zeros(ctx.shape).index_put((index,), g, accumulate=True), None


take.register_autograd(_take_back, setup_context=_take_setup)


def cases_take(rng):
    yield {"x": rng.standard_normal((4, 3)), "index": np.array([0, 2, 2, 1])}


@custom_op("right::repeat", mutates_args=())
def repeat(x: torch.Tensor, n: int) -> torch.Tensor:
    return x.repeat_interleave(n, 0)


@repeat.register_fake
def _(x, n):
    return x.new_empty(x.shape[0] * n, *x.shape[1:])


def _repeat_setup(ctx, inputs, output):
    ctx.n = inputs[1]


def _repeat_back(ctx, g):
    return g.reshape(g.shape[0] // ctx.n, ctx.n, *g.shape[1:]).sum(1), None


repeat.register_autograd(_repeat_back, setup_context=_repeat_setup)


def cases_repeat(rng):
    yield {"x": rng.standard_normal((3, 2)), "n": 2}
    yield {"x": rng.standard_normal(4), "n": 3}


@custom_op("right::norm", mutates_args=())
def norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6) -> torch.Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


@norm.register_fake
def _(x, weight, eps=1e-6):
    return torch.empty_like(x)


def _norm_setup(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.eps = inputs[2]


def _norm_back(ctx, g):
    x, weight = ctx.saved_tensors
    r = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + ctx.eps)
    xhat = x * r
    d = g * weight
    dims = tuple(range(x.dim() - 1))
    return r * (d - xhat * (d * xhat).mean(-1, keepdim=True)), (g * xhat).sum(dims), None


norm.register_autograd(_norm_back, setup_context=_norm_setup)


def cases_norm(rng):
    yield {"x": rng.standard_normal((3, 4)), "weight": rng.standard_normal(4)}
