import math

import paddle
from paddle.autograd import PyLayer


class LaplaceLogProb(PyLayer):
    @staticmethod
    def forward(ctx, x, loc, scale):
        z = (x - loc) / scale
        ctx.save_for_backward(z, scale)
        return -paddle.abs(z) - paddle.log(2 * scale)

    @staticmethod
    def backward(ctx, g):
        z, scale = ctx.saved_tensor()
        d = g * paddle.sign(z) / scale
        return -d, d, g * (paddle.abs(z) - 1) / scale


class WeibullLogProb(PyLayer):
    """Shape k, scale lam."""

    @staticmethod
    def forward(ctx, x, k, lam):
        r = x / lam
        p = paddle.exp(k * paddle.log(r))
        ctx.save_for_backward(x, k, lam, p)
        return paddle.log(k) - paddle.log(lam) + (k - 1) * paddle.log(r) - p

    @staticmethod
    def backward(ctx, g):
        x, k, lam, p = ctx.saved_tensor()
        dx = ((k - 1) - k * p) / x
        dk = 1 / k + paddle.log(x / lam) * (1 - p)
        dlam = (k * p - k - 1) / lam
        return g * dx, g * dk, g * dlam


class LogNormalLogProb(PyLayer):
    @staticmethod
    def forward(ctx, x, mu, sigma):
        z = (paddle.log(x) - mu) / sigma
        ctx.save_for_backward(x, z, sigma)
        return -0.5 * z * z - paddle.log(x) - paddle.log(sigma) - 0.5 * math.log(2 * math.pi)

    @staticmethod
    def backward(ctx, g):
        x, z, sigma = ctx.saved_tensor()
        dx = -(1 + z / 1) / x
        return g * dx, g * z / sigma, g * (z * z - 1) / sigma


class CatEntropy(PyLayer):
    """Entropy of softmax(logits / T) over the last axis."""

    @staticmethod
    def forward(ctx, logits, T=1.0):
        x = logits / T
        lp = x - paddle.logsumexp(x, axis=-1, keepdim=True)
        p = paddle.exp(lp)
        h = -(p * lp).sum(axis=-1)
        ctx.save_for_backward(p, lp, h)
        ctx.T = T
        return h

    @staticmethod
    def backward(ctx, g):
        p, lp, h = ctx.saved_tensor()
        return -g.unsqueeze(-1) * p * (lp + h.unsqueeze(-1)) / ctx.T
