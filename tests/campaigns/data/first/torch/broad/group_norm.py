import torch


class GroupNorm(torch.autograd.Function):
    """Group normalisation of [N, C, ...] with per-channel weight and bias."""

    @staticmethod
    def forward(ctx, x, weight, bias, num_groups=2, eps=1e-5):
        n, c = x.shape[:2]
        if c % num_groups or weight.shape != (c,) or bias.shape != (c,):
            raise ValueError("channels must split into num_groups; weight, bias: [C]")
        xg = x.reshape(n, num_groups, -1)
        mu = xg.mean(-1, keepdim=True)
        rstd = (xg.var(-1, unbiased=False, keepdim=True) + eps).rsqrt()
        xhat = (xg - mu) * rstd
        ctx.save_for_backward(xhat, rstd, weight)
        ctx.shape = x.shape
        y = xhat.reshape(n, c, -1) * weight[:, None] + bias[:, None]
        return y.reshape(x.shape)

    @staticmethod
    def backward(ctx, dy):
        xhat, rstd, weight = ctx.saved_tensors
        n, c = ctx.shape[:2]
        dyc = dy.reshape(n, c, -1)
        dweight = (dyc * xhat.reshape(n, c, -1)).sum((0, 2))
        dbias = dyc.sum((0, 2))
        g = (dyc * weight[:, None]).reshape(xhat.shape)
        # subtract the components along 1 and along xhat
        m1 = g.mean((1, 2), keepdim=True)
        m2 = (g * xhat).mean((1, 2), keepdim=True)
        dx = rstd * (g - m1 - xhat * m2)
        return dx.reshape(ctx.shape), dweight, dbias, None, None
