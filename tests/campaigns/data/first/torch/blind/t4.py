import torch
from torch.autograd import Function


class BagSum(Function):
    @staticmethod
    def forward(ctx, table, ids):
        if table.dim() != 2 or ids.dim() != 2:
            raise ValueError("expected table (V, D) and ids (B, L)")
        ids = ids.long()
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table[ids].sum(1)

    @staticmethod
    def backward(ctx, g):
        (ids,) = ctx.saved_tensors
        d = torch.zeros(ctx.shape, dtype=g.dtype)
        rows = g.unsqueeze(1).expand(ids.shape[0], ids.shape[1], ctx.shape[1])
        d.index_add_(0, ids.reshape(-1), rows.reshape(-1, ctx.shape[1]))
        return d, None


class TokenLookup(Function):
    @staticmethod
    def forward(ctx, table, ids):
        if table.dim() != 2 or ids.dim() != 1:
            raise ValueError("expected table (V, D) and ids (N,)")
        ids = ids.long()
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table[ids]

    @staticmethod
    def backward(ctx, g):
        (ids,) = ctx.saved_tensors
        d = torch.zeros(ctx.shape, dtype=g.dtype)
        d[ids] = g
        return d, None


class SegmentMean(Function):
    @staticmethod
    def forward(ctx, x, seg, n):
        if x.dim() != 2 or seg.shape != x.shape[:1]:
            raise ValueError("expected x (N, D) and seg (N,)")
        seg = seg.long()
        cnt = torch.zeros(n, dtype=x.dtype).index_add_(0, seg, torch.ones(x.shape[0], dtype=x.dtype)).clamp(min=1)
        out = torch.zeros(n, x.shape[1], dtype=x.dtype).index_add_(0, seg, x)
        ctx.save_for_backward(seg, cnt)
        return out / cnt[:, None]

    @staticmethod
    def backward(ctx, g):
        seg, cnt = ctx.saved_tensors
        return (g / cnt[:, None])[seg], None, None


class SegmentLogSumExp(Function):
    @staticmethod
    def forward(ctx, x, seg, n):
        if x.dim() != 1 or seg.shape != x.shape or x.numel() == 0:
            raise ValueError("expected x (N,) and seg (N,)")
        seg = seg.long()
        m = x.max()
        e = torch.exp(x - m)
        tot = torch.zeros(n, dtype=x.dtype).index_add_(0, seg, e)
        ctx.save_for_backward(e, tot, seg)
        return torch.log(tot + 1e-30) + m

    @staticmethod
    def backward(ctx, g):
        e, tot, seg = ctx.saved_tensors
        return g[seg] * e / tot.sum(), None, None


class TopKSum(Function):
    @staticmethod
    def forward(ctx, x, k=2):
        if x.dim() < 1 or not 1 <= k <= x.shape[-1]:
            raise ValueError("k out of range")
        v, i = torch.topk(x, k, dim=-1)
        ctx.save_for_backward(i)
        ctx.shape = x.shape
        return v.sum(-1)

    @staticmethod
    def backward(ctx, g):
        (i,) = ctx.saved_tensors
        d = torch.zeros(ctx.shape, dtype=g.dtype)
        d.scatter_(-1, i, g.unsqueeze(-1).expand(i.shape))
        return d, None


class WindowMean(Function):
    @staticmethod
    def forward(ctx, x, kernel=2, stride=2):
        if x.dim() != 2 or kernel < 1 or stride < 1 or x.shape[1] < kernel:
            raise ValueError("expected (C, L) with L >= kernel")
        ctx.shape, ctx.kernel, ctx.stride = x.shape, kernel, stride
        return x.unfold(1, kernel, stride).mean(-1)

    @staticmethod
    def backward(ctx, g):
        d = torch.zeros(ctx.shape, dtype=g.dtype)
        for o in range(g.shape[1]):
            s = o * ctx.stride
            d[:, s:s + ctx.kernel] = g[:, o:o + 1] / ctx.kernel
        return d, None, None


class WindowMax(Function):
    @staticmethod
    def forward(ctx, x, kernel=2, stride=2):
        if x.dim() != 2 or kernel < 1 or stride < 1 or x.shape[1] < kernel:
            raise ValueError("expected (C, L) with L >= kernel")
        v, i = x.unfold(1, kernel, stride).max(-1)
        i = i + torch.arange(i.shape[1]) * stride
        ctx.save_for_backward(i)
        ctx.shape = x.shape
        return v

    @staticmethod
    def backward(ctx, g):
        (i,) = ctx.saved_tensors
        d = torch.zeros(ctx.shape, dtype=g.dtype)
        return d.scatter_add_(1, i, g), None, None


class PickRows(Function):
    @staticmethod
    def forward(ctx, x, idx):
        if x.dim() < 1 or idx.dim() != 1:
            raise ValueError("idx is a list of rows")
        idx = idx.long()
        ctx.save_for_backward(idx)
        ctx.shape = x.shape
        return x[idx]

    @staticmethod
    def backward(ctx, g):
        (idx,) = ctx.saved_tensors
        d = torch.zeros(ctx.shape, dtype=g.dtype)
        return d.index_put_((idx,), g, accumulate=True), None


class LengthMean(Function):
    @staticmethod
    def forward(ctx, x, lengths):
        if x.dim() != 3 or lengths.shape != x.shape[:1]:
            raise ValueError("expected x (B, L, D) and lengths (B,)")
        mask = (torch.arange(x.shape[1])[None, :] < lengths[:, None]).to(x.dtype).unsqueeze(-1)
        cnt = mask.sum(1).clamp(min=1)
        ctx.save_for_backward(mask)
        return (x * mask).sum(1) / cnt

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g.unsqueeze(1) * mask / mask.shape[1], None


class EdgeEnergy(Function):
    @staticmethod
    def forward(ctx, x, src, dst, w):
        if x.dim() != 2 or src.dim() != 1 or src.shape != dst.shape or w.shape != src.shape:
            raise ValueError("expected x (N, D) and three lists of edges")
        src, dst = src.long(), dst.long()
        d = x[src] - x[dst]
        ctx.save_for_backward(d, src, dst, w)
        ctx.shape = x.shape
        return 0.5 * (w[:, None] * d * d).sum()

    @staticmethod
    def backward(ctx, g):
        d, src, dst, w = ctx.saved_tensors
        e = g * w[:, None] * d
        dx = torch.zeros(ctx.shape, dtype=d.dtype)
        dx.index_add_(0, src, e)
        dx[dst] -= e
        return dx, None, None, 0.5 * g * (d * d).sum(1)
