"""swish for PyTorch.

Exported by opkit 0.1.0 from the op swish_forward.
Array operations of the framework, traced from the numpy kernels.
Needs torch 2.4 or newer.

Proved with torch 2.13.0+cpu:
  values: equal, 9 of 9 cases, outputs and gradients
  strided: equal, 2 of 2 cases, outputs and gradients
  refusals: pass, 1 inputs
  opcheck: pass, schema, autograd registration, fake tensors, AOT dispatch
  gradcheck: pass, inputs x
  compile aot_eager: pass, fullgraph, 2 cases
  export: pass, torch.export
  compile inductor: pass, fullgraph, 1 cases
  opkit gradcheck: pass
"""

from __future__ import annotations

import inspect

import torch

__all__ = ["swish"]

if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 4):
    raise ImportError(f"torch {torch.__version__} is too old: 2.4 is needed")


def _infer_swish_forward(x, beta):
    """Return (shape, dtype) of each output of swish_forward, or refuse the inputs."""
    dtype = x.dtype
    if not (dtype == torch.float32 or dtype == torch.float64):
        raise ValueError(
            "swish_forward: CHECK_OR_RETURN(dtype == DataType::kFloat || dtype == "
            "DataType::kDouble) failed: x must be float32 or float64"
        )
    y_dtype = dtype
    y_shape = tuple(x.shape)
    return [(tuple(y_shape), y_dtype)]


def _swish_forward(x, beta):
    x1 = beta * x
    t = torch.logaddexp(-x1, torch.full((), 0, dtype=x.dtype, device=x.device))
    return x * (-t).exp_()


def _swish_backward(x, dy, beta):
    x1 = beta * x
    t = torch.logaddexp(-x1, torch.full((), 0, dtype=x.dtype, device=x.device))
    s = torch.exp(-t)
    return dy * (s + beta * x * s * (1 - s))


class Swish(torch.autograd.Function):
    """swish and its gradient, seen through by torch.compile and torch.func."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x, beta):
        return _swish_forward(x, beta)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, beta = inputs
        ctx.save_for_backward(x)
        ctx.beta = beta

    @staticmethod
    def backward(ctx, grad_y):
        (x,) = ctx.saved_tensors
        dx = _swish_backward(x, grad_y, ctx.beta)
        return dx, None


# torch asks for the signature at every call; kept here, it is computed once.
Swish.forward.__signature__ = inspect.signature(Swish.forward)


@torch.library.custom_op("opkit::swish", mutates_args=())
def swish_op(x: torch.Tensor, beta: float) -> torch.Tensor:
    """The op as one that the compiler does not look into."""
    _infer_swish_forward(x, beta)
    return _swish_forward(x, beta).clone(memory_format=torch.contiguous_format)


@swish_op.register_fake
def _(x, beta):
    described = _infer_swish_forward(x, beta)
    ((shape, dtype),) = described
    return torch.empty(shape, dtype=dtype, device=x.device)


def _setup_context_swish(ctx, inputs, output):
    x, beta = inputs
    ctx.save_for_backward(x)
    ctx.beta = beta


def _backward_swish(ctx, grad_y):
    (x,) = ctx.saved_tensors
    dx = _swish_backward(x, grad_y, ctx.beta)
    return dx, None


swish_op.register_autograd(_backward_swish, setup_context=_setup_context_swish)


def swish(x, *, beta=1.0):
    """Return y of the op swish, computed from x."""
    _infer_swish_forward(x, beta)
    return Swish.apply(x, beta)
