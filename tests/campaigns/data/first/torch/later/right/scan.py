import torch


class DiagScan(torch.autograd.Function):
    """h[t] = a[t] * h[t - 1] + b[t] along axis 0."""

    @staticmethod
    def forward(ctx, a, b):
        h = torch.zeros_like(b)
        prev = torch.zeros_like(b[0])
        for t in range(b.shape[0]):
            prev = a[t] * prev + b[t]
            h[t] = prev
        ctx.save_for_backward(a, h)
        return h

    @staticmethod
    def backward(ctx, dh):
        a, h = ctx.saved_tensors
        da = torch.zeros_like(a)
        db = torch.zeros_like(h)
        carry = torch.zeros_like(h[0])
        for t in range(h.shape[0] - 1, -1, -1):
            carry = carry + dh[t]
            db[t] = carry
            if t:
                da[t] = carry * h[t - 1]
            carry = carry * a[t]
        return da, db


class LogCumSumExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim=-1):
        y = torch.logcumsumexp(x, dim)
        ctx.save_for_backward(x, y)
        ctx.dim = dim
        return y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors

        def tail(part):
            t = (part.log() - y).flip(ctx.dim)
            return (torch.logcumsumexp(t, ctx.dim).flip(ctx.dim) + x).exp()

        return tail(g.clamp(min=0)) - tail((-g).clamp(min=0)), None


class EMA(torch.autograd.Function):
    """y[0] = x[0]; y[t] = (1 - a) y[t-1] + a x[t] along the last axis, one a for all."""

    @staticmethod
    def forward(ctx, x, a):
        ys = [x[..., 0]]
        for t in range(1, x.shape[-1]):
            ys.append((1 - a) * ys[-1] + a * x[..., t])
        y = torch.stack(ys, -1)
        ctx.save_for_backward(x, a, y)
        return y

    @staticmethod
    def backward(ctx, g):
        x, a, y = ctx.saved_tensors
        dx = torch.zeros_like(x)
        da = torch.zeros_like(a)
        c = torch.zeros_like(x[..., 0])
        for t in range(x.shape[-1] - 1, 0, -1):
            c = c + g[..., t]
            dx[..., t] = a * c
            da = da + (c * (x[..., t] - y[..., t - 1])).sum()
            c = (1 - a) * c
        dx[..., 0] = c + g[..., 0]
        return dx, da


class PrefixSum(torch.autograd.Function):
    """Cumulative sum with the switches of tf.cumsum."""

    @staticmethod
    def _run(x, dim, reverse, exclusive):
        if reverse:
            x = x.flip(dim)
        y = x.cumsum(dim)
        if exclusive:
            y = y - x
        return y.flip(dim) if reverse else y

    @staticmethod
    def forward(x, dim=0, reverse=False, exclusive=False):
        return PrefixSum._run(x, dim, reverse, exclusive)

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, ctx.dim, ctx.reverse, ctx.exclusive = tuple(inputs) + (0, False, False)[len(inputs) - 1 :]

    @staticmethod
    def backward(ctx, g):
        return PrefixSum._run(g, ctx.dim, not ctx.reverse, ctx.exclusive), None, None, None
