import torch


class FakeQuant(torch.autograd.Function):
    """Symmetric fake quantisation, straight through inside the range."""

    @staticmethod
    def forward(ctx, x, scale, bits=8):
        q = 2 ** (bits - 1) - 1
        v = x / scale
        ctx.save_for_backward(v)
        ctx.q = q
        return torch.round(v).clamp(-q, q) * scale

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g * (v.abs() <= ctx.q), None, None


def _clip(x, scale, bits=8):
    q = 2 ** (bits - 1) - 1
    return torch.minimum(torch.maximum(x, -q * scale), q * scale)


SURROGATE_FakeQuant = {"forward": _clip}


class SoftSign1Bit(torch.autograd.Function):
    """sign(x) forward, the derivative of tanh(k x) backward."""

    @staticmethod
    def forward(ctx, x, k=2.0):
        ctx.save_for_backward(x)
        ctx.k = k
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.k * (1 - torch.tanh(ctx.k * x) ** 2), None


SURROGATE_SoftSign1Bit = {"forward": lambda x, k=2.0: torch.tanh(k * x)}


class DequantMatmul(torch.autograd.Function):
    """x @ (w_int * s).T with whole numbers for weights and a scale for each row."""

    @staticmethod
    def forward(ctx, x, w, s):
        wf = w.to(x.dtype)
        ctx.save_for_backward(x, wf, s)
        return (x @ wf.t()) * s

    @staticmethod
    def backward(ctx, g):
        x, wf, s = ctx.saved_tensors
        y = x @ wf.t()
        return (g * s) @ wf, None, (g * y).flatten(0, -2).sum(0)
