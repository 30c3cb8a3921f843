import torch


class DirichletLogProb(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, conc):
        ctx.save_for_backward(x, conc)
        return ((conc - 1) * x.log()).sum(-1) + torch.lgamma(conc.sum(-1)) - torch.lgamma(conc).sum(-1)

    @staticmethod
    def backward(ctx, g):
        x, conc = ctx.saved_tensors
        g = g[..., None]
        gx = g * (conc - 1) / x
        gc = g * (x.log() + torch.digamma(conc.mean(-1, keepdim=True)) - torch.digamma(conc))
        if conc.dim() < gc.dim():
            gc = gc.sum(tuple(range(gc.dim() - conc.dim())))
        return gx, gc
