"""Library ops with one fault each; six of them are fake kernels that lie."""

import torch
from torch.library import custom_op


#: Of which class the faults are whose verdict is no failure.
FAULTS = {"fake_strides": "undecided", "kept": "kept"}


def _save(ctx, inputs, output):
    ctx.save_for_backward(*[item for item in inputs if isinstance(item, torch.Tensor)])


def _shape(ctx, inputs, output):
    ctx.shape = inputs[0].shape


@custom_op("wrong::factor", mutates_args=())
def factor(x: torch.Tensor) -> torch.Tensor:
    return x * x


@factor.register_fake
def _(x):
    return torch.empty_like(x)


factor.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0], setup_context=_save)


@custom_op("wrong::swapped", mutates_args=())
def swapped(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return a * b


@swapped.register_fake
def _(a, b):
    return torch.empty_like(a)


swapped.register_autograd(lambda ctx, g: (g * ctx.saved_tensors[0], g * ctx.saved_tensors[1]), setup_context=_save)


@custom_op("wrong::fake_shape", mutates_args=())
def fake_shape(x: torch.Tensor) -> torch.Tensor:
    return x.sum(-1)


@fake_shape.register_fake
def _(x):
    return torch.empty_like(x)


fake_shape.register_autograd(lambda ctx, g: g.unsqueeze(-1).expand(ctx.shape), setup_context=_shape)


@custom_op("wrong::fake_dtype", mutates_args=())
def fake_dtype(x: torch.Tensor) -> torch.Tensor:
    return x * 2


@fake_dtype.register_fake
def _(x):
    return torch.empty(x.shape)


fake_dtype.register_autograd(lambda ctx, g: g * 2)


@custom_op("wrong::fake_strides", mutates_args=())
def fake_strides(x: torch.Tensor) -> torch.Tensor:
    return (x * 2).contiguous()


@fake_strides.register_fake
def _(x):
    return torch.empty_like(x)


fake_strides.register_autograd(lambda ctx, g: g * 2)


@custom_op("wrong::fake_size", mutates_args=())
def fake_size(x: torch.Tensor) -> torch.Tensor:
    return x[::2].clone()


@fake_size.register_fake
def _(x):
    return x.new_empty(x.shape[0] // 2, *x.shape[1:])


def _size_back(ctx, g):
    out = g.new_zeros(ctx.shape)
    out[::2] = g
    return out


fake_size.register_autograd(_size_back, setup_context=_shape)


@custom_op("wrong::fake_values", mutates_args=())
def fake_values(x: torch.Tensor) -> torch.Tensor:
    return x * x.sum()


@fake_values.register_fake
def _(x):
    return x.new_empty(x.shape) if float(x.sum()) > -1e30 else x


def _values_back(ctx, g):
    (x,) = ctx.saved_tensors
    return g * x.sum() + (g * x).sum()


fake_values.register_autograd(_values_back, setup_context=_save)


@custom_op("wrong::fake_dynamic", mutates_args=())
def fake_dynamic(x: torch.Tensor) -> torch.Tensor:
    return x.sin()


@fake_dynamic.register_fake
def _(x):
    if any(type(size) is not int for size in x.shape):
        raise ValueError("sizes must be numbers")
    return torch.empty_like(x)


fake_dynamic.register_autograd(lambda ctx, g: g * ctx.saved_tensors[0].cos(), setup_context=_save)


@custom_op("wrong::writes", mutates_args=())
def writes(x: torch.Tensor) -> torch.Tensor:
    return x * 3


@writes.register_fake
def _(x):
    return torch.empty_like(x)


def _writes_back(ctx, g):
    return g.mul_(3)


writes.register_autograd(_writes_back)


@custom_op("wrong::option", mutates_args=())
def option(x: torch.Tensor, k: float = 1.0) -> torch.Tensor:
    return x * k


@option.register_fake
def _(x, k=1.0):
    return torch.empty_like(x)


option.register_autograd(lambda ctx, g: (g, None))


@custom_op("wrong::kept", mutates_args=())
def kept(x: torch.Tensor) -> torch.Tensor:
    return x * x


@kept.register_fake
def _(x):
    return torch.empty_like(x)


def _kept_setup(ctx, inputs, output):
    ctx.x = inputs[0]


kept.register_autograd(lambda ctx, g: 2 * g * ctx.x, setup_context=_kept_setup)
