import math

import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class SignSTE(PyLayer):
    """Binary weights; gradient passes where |x| <= 1 (XNOR-Net)."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return paddle.sign(x)

    @staticmethod
    def backward(ctx, dy):
        x, = ctx.saved_tensor()
        return dy * (x.abs() <= 1).astype(dy.dtype)


class FakeQuant(PyLayer):
    """Uniform quantisation to `bits`, straight-through inside the range."""

    @staticmethod
    def forward(ctx, x, scale=0.1, bits=8):
        lo, hi = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
        v = x / scale
        ctx.save_for_backward(v)
        ctx.lim = (lo, hi)
        return paddle.clip(paddle.round(v), lo, hi) * scale

    @staticmethod
    def backward(ctx, dy):
        v, = ctx.saved_tensor()
        lo, hi = ctx.lim
        return dy * ((v >= lo) & (v <= hi)).astype(dy.dtype)


class Spike(PyLayer):
    """Heaviside with SuperSpike surrogate derivative 1 / (1 + k|u|)^2."""

    @staticmethod
    def forward(ctx, u, k=10.0):
        ctx.save_for_backward(u)
        ctx.k = k
        return (u > 0).astype(u.dtype)

    @staticmethod
    def backward(ctx, dy):
        u, = ctx.saved_tensor()
        return dy / (1 + ctx.k * u.abs()) ** 2


class GradReverse(PyLayer):
    """Identity forward, -lambda * grad backward (DANN)."""

    @staticmethod
    def forward(ctx, x, lambd=1.0):
        ctx.lambd = lambd
        return x * 1.0

    @staticmethod
    def backward(ctx, dy):
        return -ctx.lambd * dy
