from torch.autograd import Function


class _LN(Function):
    @staticmethod
    def forward(ctx, x, gamma, beta, eps=1e-5):
        mu = x.mean(-1, keepdim=True)
        xc = x - mu
        inv = 1.0 / ((xc ** 2).mean(-1, keepdim=True) + eps) ** 0.5
        xh = xc * inv
        ctx.save_for_backward(xh, inv, gamma)
        return gamma * xh + beta

    @staticmethod
    def backward(ctx, dout):
        xh, inv, gamma = ctx.saved_tensors
        red = tuple(range(dout.dim() - 1))
        dbeta = dout.sum(red)
        dgamma = (dout * xh).sum(red)
        dxh = dout * gamma
        N = xh.shape[-1]
        dx = inv / N * (N * dxh - dxh.sum(-1, keepdim=True) - xh * (dxh * xh).sum(-1, keepdim=True))
        return dx, dgamma, dbeta, None
