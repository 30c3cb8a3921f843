import math

import torch
from torch.autograd import Function


class SmoothedSeries(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        if x.dim() != 2 or x.shape[1] < 1 or alpha.dim() != 0:
            raise ValueError("expected x (N, T) and one number alpha")
        out = [x[:, 0]]
        for t in range(1, x.shape[1]):
            out.append(alpha * x[:, t] + (1 - alpha) * out[-1])
        y = torch.stack(out, 1)
        ctx.save_for_backward(x, alpha, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, alpha, y = ctx.saved_tensors
        dx = torch.zeros_like(x)
        da = torch.zeros_like(alpha)
        carry = torch.zeros_like(x[:, 0])
        for t in range(x.shape[1] - 1, 0, -1):
            carry = carry + g[:, t]
            dx[:, t] = alpha * carry
            da = da + (carry * (x[:, t] - y[:, t - 1])).sum()
            carry = (1 - alpha) * carry
        dx[:, 0] = carry + g[:, 0]
        return dx, da


class LinearRecurrence(Function):
    @staticmethod
    def forward(ctx, a, b):
        if a.dim() != 2 or a.shape != b.shape:
            raise ValueError("expected two arrays (T, D)")
        h = torch.zeros_like(b)
        s = torch.zeros_like(b[:1].sum(0))
        for t in range(a.shape[0]):
            s = a[t] * s + b[t]
            h[t] = s
        ctx.save_for_backward(a, h)
        return h

    @staticmethod
    def backward(ctx, g):
        a, h = ctx.saved_tensors
        da, db = torch.zeros_like(a), torch.zeros_like(a)
        c = torch.zeros_like(g[:1].sum(0))
        for t in range(a.shape[0] - 1, -1, -1):
            c = c + g[t]
            db[t] = c
            if t > 0:
                da[t] = c * h[t]
            c = a[t] * c
        return da, db


class ValidFilter(Function):
    @staticmethod
    def forward(ctx, x, taps):
        if x.dim() != 1 or taps.dim() != 1 or not 1 <= taps.shape[0] <= x.shape[0]:
            raise ValueError("expected a signal and fewer taps")
        w = x.unfold(0, taps.shape[0], 1)
        ctx.save_for_backward(x, taps)
        return w @ taps

    @staticmethod
    def backward(ctx, g):
        x, taps = ctx.saved_tensors
        k = taps.shape[0]
        dt = x.unfold(0, k, 1).T @ g
        dx = torch.zeros_like(x)
        n = g.shape[0]
        for i in range(k):
            dx[i:i + n] += taps[i] * g
        return dx, dt


class Shrink(Function):
    @staticmethod
    def forward(ctx, x, lam):
        y = torch.sign(x) * torch.relu(x.abs() - lam)
        ctx.save_for_backward(x, lam)
        return y

    @staticmethod
    def backward(ctx, g):
        x, lam = ctx.saved_tensors
        on = (x.abs() > lam).to(g.dtype)
        return (g * on).sum_to_size(x.shape), (g * on * torch.sign(x)).sum_to_size(lam.shape)


def _cdf(x):
    return 0.5 * torch.erfc(-x / math.sqrt(2))


def _pdf(x):
    return torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


class CallPrice(Function):
    @staticmethod
    def forward(ctx, spot, strike, tau, vol, rate=0.02):
        if not spot.shape == strike.shape == tau.shape == vol.shape:
            raise ValueError("shapes differ")
        sd = vol * torch.sqrt(tau)
        d1 = (torch.log(spot / strike) + (rate + 0.5 * vol * vol) * tau) / sd
        d2 = d1 - sd
        disc = torch.exp(-rate * tau)
        ctx.save_for_backward(spot, strike, tau, vol, d1, d2, disc)
        ctx.rate = rate
        return spot * _cdf(d1) - strike * disc * _cdf(d2)

    @staticmethod
    def backward(ctx, g):
        spot, strike, tau, vol, d1, d2, disc = ctx.saved_tensors
        theta = spot * _pdf(d1) * vol / (2 * torch.sqrt(tau))
        return g * _cdf(d1), -g * disc * _cdf(d2), g * theta, g * spot * _pdf(d1) * torch.sqrt(tau), None


class PairPotential(Function):
    @staticmethod
    def forward(ctx, r, eps, sigma):
        if eps.dim() or sigma.dim():
            raise ValueError("eps and sigma are single numbers")
        s6 = (sigma / r) ** 6
        ctx.save_for_backward(r, eps, sigma, s6)
        return 4 * eps * (s6 * s6 - s6)

    @staticmethod
    def backward(ctx, g):
        r, eps, sigma, s6 = ctx.saved_tensors
        k = 24 * eps * (2 * s6 * s6 - s6)
        return -g * k / r, (g * 4 * (s6 * s6 - s6)).sum(), (g * k).sum() / sigma


class HaarStep(Function):
    @staticmethod
    def forward(ctx, x):
        if x.dim() < 1 or x.shape[-1] % 2:
            raise ValueError("expected an even length")
        s = math.sqrt(0.5)
        e, o = x[..., 0::2], x[..., 1::2]
        return (e + o) * s, (e - o) * s

    @staticmethod
    def backward(ctx, ga, gd):
        s = math.sqrt(0.5)
        e, o = (ga - gd) * s, (ga + gd) * s
        return torch.stack([e, o], -1).flatten(-2)


class TableInterp(Function):
    @staticmethod
    def forward(ctx, q, values, lo=-1.0, hi=1.0):
        if values.dim() != 1 or values.shape[0] < 2:
            raise ValueError("needs two values at least")
        n = values.shape[0]
        u = (q - lo) / (hi - lo) * (n - 1)
        i = u.detach().floor().clamp(0, n - 2).long()
        f = u - i
        ctx.save_for_backward(i, f, values)
        ctx.k = (n - 1) / (hi - lo)
        return values[i] * (1 - f) + values[i + 1] * f

    @staticmethod
    def backward(ctx, g):
        i, f, values = ctx.saved_tensors
        dq = g * (values[i + 1] - values[i]) * ctx.k
        dv = torch.zeros_like(values)
        dv.index_add_(0, i.reshape(-1), (g * (1 - f)).reshape(-1))
        dv.index_add_(0, i.reshape(-1), (g * f).reshape(-1))
        return dq, dv, None, None


class LogSumExpDim(Function):
    @staticmethod
    def forward(ctx, x, dim=-1, keepdim=False):
        m = x.amax(dim, keepdim=True)
        y = torch.log(torch.exp(x - m).sum(dim, keepdim=True)) + m
        ctx.save_for_backward(x, y)
        ctx.dim, ctx.keepdim = dim, keepdim
        return y.clone() if keepdim else y.squeeze(dim)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        if not ctx.keepdim:
            g = g.unsqueeze(ctx.dim)
        return g * torch.exp(x - y), None, None


class ScalarKalman(Function):
    @staticmethod
    def forward(ctx, mean, var, z, r):
        if not mean.shape == var.shape == z.shape == r.shape:
            raise ValueError("shapes differ")
        k = var / (var + r)
        ctx.save_for_backward(mean, var, z, r, k)
        return mean + k * (z - mean), (1 - k) * var

    @staticmethod
    def backward(ctx, gm, gv):
        mean, var, z, r, k = ctx.saved_tensors
        e = z - mean
        s = var + r
        dvar = gm * e * r / s ** 2 + gv * (1 - k)
        dr = -gm * e * var / s ** 2 + gv * k * k
        return gm * (1 - k), dvar, gm * k, dr
