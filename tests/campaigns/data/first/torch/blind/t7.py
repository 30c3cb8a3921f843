import math

import torch
from torch.autograd import Function


class MomentStep(Function):
    @staticmethod
    def forward(ctx, grad, m, v, beta1=0.9, beta2=0.99, eps=1e-3):
        if not grad.shape == m.shape == v.shape:
            raise ValueError("shapes differ")
        m2 = beta1 * m + (1 - beta1) * grad
        v2 = beta2 * v * v + (1 - beta2) * grad * grad
        den = torch.sqrt(v2 + eps)
        ctx.save_for_backward(grad, v, m2, den)
        ctx.b = beta1, beta2
        return m2 / den, m2.clone()

    @staticmethod
    def backward(ctx, gs, gm):
        grad, v, m2, den = ctx.saved_tensors
        b1, b2 = ctx.b
        dm2 = gs / den + gm
        dv2 = -0.5 * gs * m2 / den ** 3
        return dm2 * (1 - b1) + dv2 * 2 * (1 - b2) * grad, dm2 * b1, dv2 * 2 * b2 * v, None, None, None


class SafeHypot(Function):
    @staticmethod
    def forward(ctx, x, y):
        if x.shape != y.shape:
            raise ValueError("shapes differ")
        r = torch.sqrt(x * x + y * y + 1e-12)
        ctx.save_for_backward(x, y, r)
        return r

    @staticmethod
    def backward(ctx, g):
        x, y, r = ctx.saved_tensors
        return g * y / r, g * x / r


class LogBeta(Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        s = torch.digamma(a + b)
        return (g * (torch.digamma(a) - s)).sum_to_size(a.shape), (g * (torch.digamma(b) - s)).sum_to_size(b.shape)


class NormalCdf(Function):
    @staticmethod
    def forward(ctx, x, mu, sigma):
        z = (x - mu) / sigma
        ctx.save_for_backward(x, mu, sigma, z)
        return 0.5 * torch.erfc(-z / math.sqrt(2))

    @staticmethod
    def backward(ctx, g):
        x, mu, sigma, z = ctx.saved_tensors
        d = g * torch.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) / sigma
        return d.sum_to_size(x.shape), (-d).sum_to_size(mu.shape), (-d * z * z).sum_to_size(sigma.shape)


class PiecewiseCube(Function):
    @staticmethod
    def forward(ctx, x, knee=3.0):
        if knee <= 0:
            raise ValueError("knee must be positive")
        ctx.save_for_backward(x)
        ctx.knee = knee
        inner = x * (1 - x * x / (3 * knee * knee))
        outer = torch.sign(x) * 2 * knee / 3 + 0.1 * (x - torch.sign(x) * knee)
        return torch.where(x.abs() < knee, inner, outer)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        k = ctx.knee
        d = torch.clamp(1 - x * x / (k * k), min=0.0)
        return g * d, None


class ComplexModulus(Function):
    @staticmethod
    def forward(ctx, z):
        if not z.is_complex():
            raise ValueError("expected a complex tensor")
        r = torch.sqrt(z.real ** 2 + z.imag ** 2 + 1e-6)
        ctx.save_for_backward(z, r)
        return r

    @staticmethod
    def backward(ctx, g):
        z, r = ctx.saved_tensors
        return g * z / r


class MulticlassHinge(Function):
    @staticmethod
    def forward(ctx, scores, labels, margin=1.0):
        if scores.dim() != 2 or labels.shape != scores.shape[:1]:
            raise ValueError("expected scores (N, C) and labels (N,)")
        labels = labels.long().unsqueeze(1)
        viol = scores - scores.gather(1, labels) + margin
        viol = viol.scatter(1, labels, 0.0)
        on = (viol > 0).to(scores.dtype)
        ctx.save_for_backward(on, labels)
        return (viol * on).sum(1)

    @staticmethod
    def backward(ctx, g):
        on, labels = ctx.saved_tensors
        d = on.scatter(1, labels, (on.sum(1, keepdim=True) > 0).to(on.dtype) * -1.0)
        return g.unsqueeze(1) * d, None, None


class NoisySoftmax(Function):
    @staticmethod
    def forward(ctx, logits, noise, tau=1.0):
        if logits.shape != noise.shape or logits.dim() < 1:
            raise ValueError("shapes differ")
        if tau <= 0:
            raise ValueError("tau must be positive")
        y = torch.softmax((logits + noise) / tau, dim=-1)
        ctx.save_for_backward(y)
        ctx.tau = tau
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        d = y * (g - (g * y).sum(-1, keepdim=True)) / ctx.tau
        return d, d, None


class CachedSwish(Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        ctx.save_for_backward(x, s)
        return x * s

    @staticmethod
    def backward(ctx, g):
        x, s = ctx.saved_tensors
        d = x.mul_(1 - s).add_(1).mul_(s)
        return g * d


class Moments(Function):
    @staticmethod
    def forward(ctx, x):
        if x.dim() != 2:
            raise ValueError("expected (N, D)")
        mu = x.mean(0)
        d = x - mu
        sd = torch.sqrt((d * d).mean(0) + 1e-6)
        z = d / sd
        ctx.save_for_backward(z, sd)
        return z, mu, sd

    @staticmethod
    def backward(ctx, gz, gm, gs):
        z, sd = ctx.saved_tensors
        n = z.shape[0]
        dx = (gz - gz.mean(0) - z * (gz * z).mean(0)) / sd
        return dx + gm / n + gs * z / n
