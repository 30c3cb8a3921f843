import torch


class WeightNormLinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, v, g):
        nv = v.norm(dim=1, keepdim=True)
        W = v * (g[:, None] / nv)
        ctx.save_for_backward(x, v, g, nv)
        return x.mm(W.t())

    @staticmethod
    def backward(ctx, gy):
        x, v, g, nv = ctx.saved_tensors
        W = v * (g[:, None] / nv)
        gW = gy.t().mm(x)
        gg = (gW * v).sum(1) / nv[:, 0]
        gv = (g[:, None] / nv) * (gW - v * gg[:, None] / nv.pow(2))
        return gy.mm(W), gv, gg
