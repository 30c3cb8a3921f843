import torch
import numpy as np


class CholeskyLogDet(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, jitter=0.0):
        if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
            raise ValueError("square")
        s = 0.5 * (a + a.transpose(-1, -2))
        s = s + jitter * torch.eye(s.shape[-1], dtype=s.dtype)
        L = torch.linalg.cholesky(s)
        ctx.save_for_backward(L)
        return 2 * torch.log(torch.diagonal(L, dim1=-2, dim2=-1)).sum(-1)

    @staticmethod
    def backward(ctx, g):
        (L,) = ctx.saved_tensors
        return g[..., None, None] * torch.cholesky_inverse(L), None


class segment_mean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, seg, num):
        cnt = torch.bincount(seg, minlength=num).clamp(min=1).to(x.dtype)
        if cnt.numel() != num:
            raise IndexError("segment id out of range")
        shape = (-1,) + (1,) * (x.dim() - 1)
        out = x.new_zeros((num,) + x.shape[1:]).index_add(0, seg, x) / cnt.reshape(shape)
        ctx.save_for_backward(seg, cnt)
        return out

    @staticmethod
    def backward(ctx, dout):
        seg, cnt = ctx.saved_tensors
        shape = (-1,) + (1,) * (dout.dim() - 1)
        return (dout / cnt.reshape(shape))[seg], None, None


class FirstOrderScan(torch.autograd.Function):
    """h[:, t] = a[:, t] * h[:, t - 1] + b[:, t], h[:, -1] = h0"""

    @staticmethod
    def forward(ctx, a, b, h0):
        if a.shape != b.shape or a.dim() != 3 or h0.shape != a[:, 0].shape:
            raise ValueError("a, b: (B, T, D); h0: (B, D)")
        h, hs = h0, []
        for t in range(a.shape[1]):
            h = a[:, t] * h + b[:, t]
            hs.append(h)
        hs = torch.stack(hs, 1)
        ctx.save_for_backward(a, hs, h0)
        return hs

    @staticmethod
    def backward(ctx, dh):
        a, hs, h0 = ctx.saved_tensors
        da, db = torch.empty_like(a), torch.empty_like(a)
        carry = torch.zeros_like(h0)
        for t in reversed(range(a.shape[1])):
            carry = carry + dh[:, t]
            db[:, t] = carry
            prev = hs[:, t - 1] if t else h0
            da[:, t] = carry * prev
            carry = carry * a[:, t]
        return da, db, carry


class PinballHuber(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pred, target, tau=0.3, delta=1.0):
        if pred.shape != target.shape:
            raise ValueError
        u = target - pred
        au = u.abs()
        h = torch.where(au <= delta, 0.5 * u * u, delta * (au - 0.5 * delta))
        w = torch.where(u > 0, tau, 1 - tau).to(pred.dtype)
        ctx.save_for_backward(u, w)
        ctx.delta = delta
        return (w * h).mean()

    @staticmethod
    def backward(ctx, g):
        u, w = ctx.saved_tensors
        du = g * w * u.clamp(-ctx.delta, ctx.delta) / u.numel()
        return -du, du, None, None


class MaxPool1dIdx(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, kernel=3, stride=2):
        n, c, l = x.shape
        win = x.unfold(2, kernel, stride)          # n c o k
        val, arg = win.max(-1)
        pos = arg + torch.arange(win.shape[2]) * stride
        ctx.save_for_backward(pos)
        ctx.l = l
        return val

    @staticmethod
    def backward(ctx, gy):
        pos, = ctx.saved_tensors
        gx = gy.new_zeros(gy.shape[0], gy.shape[1], ctx.l)
        gx.scatter_(2, pos, gy)
        return gx, None, None


class TriSolve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A, B, upper=False):
        X = torch.linalg.solve_triangular(A, B, upper=upper)
        ctx.save_for_backward(A, X)
        ctx.upper = upper
        return X

    @staticmethod
    def backward(ctx, G):
        A, X = ctx.saved_tensors
        gB = torch.linalg.solve_triangular(A.mT, G, upper=not ctx.upper)
        gA = -gB @ X.mT
        return gA.tril(), gB, None


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        gate, up = h.chunk(2, dim=-1)
        sg = torch.sigmoid(gate)
        ctx.save_for_backward(gate, up, sg)
        return gate * sg * up

    @staticmethod
    def backward(ctx, dy):
        gate, up, sg = ctx.saved_tensors
        dup = dy * gate * sg
        dgate = dy * up * sg * (1 + gate * (1 - sg))
        return torch.cat((dup, dgate), -1)


class TripletActive(torch.autograd.Function):
    @staticmethod
    def forward(ctx, anchor, pos, neg, margin=1.0):
        dp = (anchor - pos).pow(2).sum(-1)
        dn = (anchor - neg).pow(2).sum(-1)
        raw = dp - dn + margin
        active = raw > 0
        ctx.save_for_backward(anchor, pos, neg, active)
        return (raw * active).sum() / active.sum().clamp(min=1)

    @staticmethod
    def backward(ctx, g):
        a, p, n, active = ctx.saved_tensors
        k = 2 * g * active.unsqueeze(-1).to(a.dtype) / active.numel()
        return k * (n - p), k * (p - a), k * (a - n), None
