import torch
from torch.autograd import Function


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, g):
        return g


class BinarySign(Function):
    """Sign activation with the hard-tanh window in the backward pass."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (x.abs() <= 1)


class SpikeFastSigmoid(Function):
    @staticmethod
    def forward(ctx, v, threshold=1.0, slope=25.0):
        ctx.save_for_backward(v)
        ctx.threshold, ctx.slope = threshold, slope
        return (v > threshold).to(v.dtype)

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return g / (ctx.slope * (v - ctx.threshold).abs() + 1.0) ** 2, None, None


class GradReverse(Function):
    """Identity forward, -lambda * gradient backward (DANN)."""

    @staticmethod
    def forward(x, lambd=1.0):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lambd = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return -ctx.lambd * g, None


class ArgmaxST(Function):
    """One hot of the argmax; backward as if it were a softmax."""

    @staticmethod
    def forward(ctx, logits, tau=1.0):
        p = (logits / tau).softmax(-1)
        ctx.save_for_backward(p)
        ctx.tau = tau
        return torch.zeros_like(p).scatter(-1, p.argmax(-1, keepdim=True), 1.0)

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        return p * (g - (g * p).sum(-1, keepdim=True)) / ctx.tau, None


class FakeQuant(Function):
    """Uniform fake quantisation, straight through inside the range."""

    @staticmethod
    def forward(ctx, x, scale, qmin=-128, qmax=127):
        q = x / scale
        ctx.save_for_backward((q >= qmin) & (q <= qmax))
        return q.round().clamp(qmin, qmax) * scale

    @staticmethod
    def backward(ctx, g):
        (inside,) = ctx.saved_tensors
        return g * inside, None, None, None
