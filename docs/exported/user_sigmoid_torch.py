"""user_sigmoid for PyTorch.

Exported by opkit 0.1.0 from the op user_sigmoid_forward.
Array operations of the framework, traced from the numpy kernels.
Needs torch 2.4 or newer.

Proved with torch 2.13.0+cpu:
  values: equal, 24 of 24 cases, outputs and gradients
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

__all__ = ["user_sigmoid"]

if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 4):
    raise ImportError(f"torch {torch.__version__} is too old: 2.4 is needed")


def _infer_user_sigmoid_forward(x):
    """Return (shape, dtype) of each output of user_sigmoid_forward, or refuse the inputs."""
    dtype = x.dtype
    if not (dtype == torch.float32 or dtype == torch.float64):
        raise ValueError(
            "user_sigmoid_forward: CHECK_OR_RETURN(dtype == DataType::kFloat || dtype == "
            "DataType::kDouble) failed: x must be float32 or float64"
        )
    y_dtype = dtype
    y_shape = tuple(x.shape)
    return [(tuple(y_shape), y_dtype)]


def _user_sigmoid_forward(x):
    t = torch.logaddexp(-x, torch.full((), 0, dtype=x.dtype, device=x.device))
    return (-t).exp_()


def _user_sigmoid_backward(y, dy):
    return dy * y * (1 - y)


class UserSigmoid(torch.autograd.Function):
    """user_sigmoid and its gradient, seen through by torch.compile and torch.func."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return _user_sigmoid_forward(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        y = output
        ctx.save_for_backward(y)

    @staticmethod
    def backward(ctx, grad_y):
        (y,) = ctx.saved_tensors
        dx = _user_sigmoid_backward(y, grad_y)
        return dx


# torch asks for the signature at every call; kept here, it is computed once.
UserSigmoid.forward.__signature__ = inspect.signature(UserSigmoid.forward)


@torch.library.custom_op("opkit::user_sigmoid", mutates_args=())
def user_sigmoid_op(x: torch.Tensor) -> torch.Tensor:
    """The op as one that the compiler does not look into."""
    _infer_user_sigmoid_forward(x)
    return _user_sigmoid_forward(x).clone(memory_format=torch.contiguous_format)


@user_sigmoid_op.register_fake
def _(x):
    described = _infer_user_sigmoid_forward(x)
    ((shape, dtype),) = described
    return torch.empty(shape, dtype=dtype, device=x.device)


def _setup_context_user_sigmoid(ctx, inputs, output):
    (x,) = inputs
    y = output
    ctx.save_for_backward(y)


def _backward_user_sigmoid(ctx, grad_y):
    (y,) = ctx.saved_tensors
    dx = _user_sigmoid_backward(y, grad_y)
    return dx


user_sigmoid_op.register_autograd(_backward_user_sigmoid, setup_context=_setup_context_user_sigmoid)


def user_sigmoid(x):
    """Return y of the op user_sigmoid, computed from x."""
    _infer_user_sigmoid_forward(x)
    return UserSigmoid.apply(x)
