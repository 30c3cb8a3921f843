import torch


class FM(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, V, w):
        s = x @ V
        ctx.save_for_backward(x, V, w, s)
        return x @ w + 0.5 * (s ** 2 - (x ** 2) @ (V ** 2)).sum(1)

    @staticmethod
    def backward(ctx, g):
        x, V, w, s = ctx.saved_tensors
        gs = g[:, None] * s
        gV = x.t() @ gs - V * (x.t() @ g)[:, None]
        gx = gs @ V.t() - g[:, None] * x * (V ** 2).sum(1) + g[:, None] * w
        return gx, gV, x.t() @ g
