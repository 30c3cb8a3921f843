import math
import torch
import torch.nn as nn
from torch.autograd import Function


def _unbroadcast(g, shape):
    while g.dim() > len(shape):
        g = g.sum(0)
    for i, s in enumerate(shape):
        if s == 1 and g.shape[i] != 1:
            g = g.sum(i, keepdim=True)
    return g


class AddCMul(Function):
    """a + alpha * b * c with full broadcasting"""

    @staticmethod
    def forward(ctx, a, b, c, alpha=1.0):
        ctx.save_for_backward(b, c)
        ctx.sa, ctx.alpha = a.shape, alpha
        return a + alpha * b * c

    @staticmethod
    def backward(ctx, g):
        b, c = ctx.saved_tensors
        return (_unbroadcast(g, ctx.sa), _unbroadcast(ctx.alpha * g * c, b.shape),
                _unbroadcast(ctx.alpha * g * b, c.shape), None)


class EntropyFromLogits(Function):
    @staticmethod
    def forward(ctx, logits):
        lp = torch.log_softmax(logits, -1)
        p = lp.exp()
        h = -(p * lp).sum(-1)
        ctx.save_for_backward(p, lp, h)
        return h

    @staticmethod
    def backward(ctx, g):
        p, lp, h = ctx.saved_tensors
        return -g.unsqueeze(-1) * p * (lp + h.unsqueeze(-1))


class Rodrigues(Function):
    """axis-angle (N, 3) -> rotation matrices (N, 3, 3), away from the zero angle"""

    @staticmethod
    def _hat(v):
        o = torch.zeros_like(v[..., 0])
        x, y, z = v.unbind(-1)
        return torch.stack([o, -z, y, z, o, -x, -y, x, o], -1).reshape(v.shape[:-1] + (3, 3))

    @staticmethod
    def forward(ctx, v):
        if v.dim() != 2 or v.shape[1] != 3:
            raise ValueError("expected (N, 3)")
        th = v.norm(dim=1).clamp(min=1e-12)
        k = v / th[:, None]
        K = Rodrigues._hat(k)
        s, c = th.sin()[:, None, None], th.cos()[:, None, None]
        ctx.save_for_backward(k, th)
        return torch.eye(3, dtype=v.dtype) + s * K + (1 - c) * (K @ K)

    @staticmethod
    def backward(ctx, G):
        k, th = ctx.saved_tensors
        K = Rodrigues._hat(k)
        s, c = th.sin()[:, None, None], th.cos()[:, None, None]
        dth = (G * (c * K + s * (K @ K))).sum((1, 2))
        GK = s * G + (1 - c) * (G @ K.mT + K.mT @ G)
        dk = torch.stack([GK[:, 2, 1] - GK[:, 1, 2], GK[:, 0, 2] - GK[:, 2, 0], GK[:, 1, 0] - GK[:, 0, 1]], -1)
        dk_tan = (dk - k * (dk * k).sum(1, keepdim=True)) / th[:, None]
        return dk_tan + dth[:, None] * k


class WhitenZCA(Function):
    """cov^(-1/2) of a symmetric positive matrix, via eigh"""

    @staticmethod
    def forward(ctx, C):
        if C.dim() != 2 or C.shape[0] != C.shape[1]:
            raise ValueError
        S = (C + C.T) / 2
        lam, V = torch.linalg.eigh(S)
        if (lam <= 0).any():
            raise ValueError("not positive definite")
        ctx.save_for_backward(lam, V)
        return (V * lam.rsqrt()) @ V.T

    @staticmethod
    def backward(ctx, G):
        lam, V = ctx.saved_tensors
        f = lam.rsqrt()
        # divided differences of x^-1/2 in a form without cancellation
        r = lam.sqrt()
        D = -1 / (r[:, None] * r[None, :] * (r[:, None] + r[None, :]))
        M = V.T @ ((G + G.T) / 2) @ V
        return V @ (D * M) @ V.T


class MaxMarginPairs(Function):
    """mean over i != j of relu(margin - s_ii + s_ij)"""

    @staticmethod
    def forward(ctx, s, margin=0.2):
        n = s.shape[0]
        if s.dim() != 2 or s.shape[1] != n or n < 2:
            raise ValueError("square similarity")
        v = margin - s.diagonal()[:, None] + s
        act = (v > 0) & ~torch.eye(n, dtype=torch.bool)
        ctx.save_for_backward(act)
        return (v * act).sum() / (n * (n - 1))

    @staticmethod
    def backward(ctx, g):
        act, = ctx.saved_tensors
        n = act.shape[0]
        d = act.to(g.dtype)
        d = d - torch.diag(d.sum(0))
        return g * d / (n * (n - 1)), None


class NormalisedLaplacian(Function):
    """I - D^-1/2 W D^-1/2, W a weight matrix (rows' sums are the degrees)"""

    @staticmethod
    def forward(ctx, w):
        d = w.sum(1)
        r = d.rsqrt()
        ctx.save_for_backward(w, r)
        return torch.eye(w.shape[0], dtype=w.dtype) - r[:, None] * w * r[None, :]

    @staticmethod
    def backward(ctx, g):
        w, r = ctx.saved_tensors
        gr = -((g * w * r[None, :]).sum(1))
        gd = -0.5 * gr * r ** 3
        return -g * r[:, None] * r[None, :] + gd[:, None]


class GradReverseMasked(Function):
    @staticmethod
    def forward(ctx, x, keep):
        ctx.save_for_backward(keep)
        y = x.clone()
        y[~keep] = 0
        return y

    @staticmethod
    def backward(ctx, g):
        keep, = ctx.saved_tensors
        g[~keep] = 0
        return g, None


class PSNR(Function):
    @staticmethod
    def forward(ctx, x, ref, peak=1.0):
        d = x - ref
        m = d.pow(2).mean()
        ctx.save_for_backward(d, m)
        return 10 * torch.log10(peak ** 2 / m)

    @staticmethod
    def backward(ctx, g):
        d, m = ctx.saved_tensors
        k = -10 / math.log(10) * 2 * g / (m * d.shape[0])
        return k * d, -k * d, None


class StackNorms(Function):
    """several vectors -> their norms"""

    @staticmethod
    def forward(ctx, a, b, c):
        n = torch.stack([a.norm(), b.norm(), c.norm()])
        ctx.save_for_backward(a, b, c, n)
        return n

    @staticmethod
    def backward(ctx, g):
        a, b, c, n = ctx.saved_tensors
        s = g / n
        return s[0] * a, s[1] * b, s[1] * c


class EdgeSoftAgg(Function):
    """out[dst] += w * x[src]"""

    @staticmethod
    def forward(ctx, x, w, src, dst):
        if w.shape != src.shape or src.shape != dst.shape or w.dim() != 1 or x.dim() != 2:
            raise ValueError("edges")
        out = torch.zeros_like(x)
        out.index_add_(0, dst, w[:, None] * x[src])
        ctx.save_for_backward(x, w, src, dst)
        return out

    @staticmethod
    def backward(ctx, g):
        x, w, src, dst = ctx.saved_tensors
        dx = torch.zeros_like(x).index_add_(0, src, w[:, None] * g[dst])
        return dx, (g[src] * x[src]).sum(1), None, None
