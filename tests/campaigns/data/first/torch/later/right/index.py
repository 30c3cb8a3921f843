import torch


class SegMean(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, seg, n):
        cnt = torch.bincount(seg, minlength=n).clamp(min=1).to(x.dtype)
        out = torch.zeros((n, *x.shape[1:]), dtype=x.dtype)
        out.index_add_(0, seg, x)
        ctx.save_for_backward(seg, cnt)
        return out / cnt.view(-1, *[1] * (x.dim() - 1))

    @staticmethod
    def backward(ctx, g):
        seg, cnt = ctx.saved_tensors
        return g.div(cnt.view(-1, *[1] * (g.dim() - 1)))[seg], None, None


class ScatterAddRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, base, idx, src, alpha=1.0):
        ctx.save_for_backward(idx)
        ctx.alpha = alpha
        return base.index_add(0, idx, src, alpha=alpha)

    @staticmethod
    def backward(ctx, g):
        (idx,) = ctx.saved_tensors
        return g, None, ctx.alpha * g.index_select(0, idx), None


class BagWeighted(torch.autograd.Function):
    """out[b] = sum_k w[b, k] * table[idx[b, k]]."""

    @staticmethod
    def forward(ctx, table, idx, w):
        ctx.save_for_backward(table, idx, w)
        return torch.einsum("bkd,bk->bd", table[idx], w)

    @staticmethod
    def backward(ctx, g):
        table, idx, w = ctx.saved_tensors
        dw = torch.einsum("bkd,bd->bk", table[idx], g)
        rows = (w.unsqueeze(-1) * g.unsqueeze(1)).flatten(0, 1)
        dt = torch.zeros_like(table)
        dt.index_add_(0, idx.flatten(), rows)
        return dt, None, dw


class Lerp1D(torch.autograd.Function):
    """Samples sig at fractional places u in [0, n - 1], clamped at both ends."""

    @staticmethod
    def forward(ctx, sig, u):
        n = sig.shape[0]
        uc = u.clamp(0, n - 1)
        i = uc.floor().long().clamp(max=n - 2)
        f = uc - i
        ctx.save_for_backward(sig, u, i, f)
        return sig[i] * (1 - f) + sig[i + 1] * f

    @staticmethod
    def backward(ctx, g):
        sig, u, i, f = ctx.saved_tensors
        ds = torch.zeros_like(sig)
        ds.index_add_(0, i.flatten(), (g * (1 - f)).flatten())
        ds.index_add_(0, (i + 1).flatten(), (g * f).flatten())
        inside = (u >= 0) & (u <= sig.shape[0] - 1)
        return ds, g * (sig[i + 1] - sig[i]) * inside
