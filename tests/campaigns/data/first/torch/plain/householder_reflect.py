import torch


class Householder(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, v):
        vv = v @ v
        xv = x @ v
        ctx.save_for_backward(x, v, vv, xv)
        return x - (2 / vv) * xv[:, None] * v

    @staticmethod
    def backward(ctx, g):
        x, v, vv, xv = ctx.saved_tensors
        gv_ = g @ v
        gx = g - (2 / vv) * gv_[:, None] * v
        s = (xv * gv_).sum()
        gv = -(2 / vv) * (x.t() @ gv_ + g.t() @ xv) + 4 * s / vv ** 2 * v
        return gx, gv
