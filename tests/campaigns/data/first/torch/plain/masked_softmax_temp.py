import torch


class MaskedSoftmax(torch.autograd.Function):

    @staticmethod
    def forward(ctx, logits, keep, tau=1.0):
        z = (logits / tau).masked_fill(~keep, float("-inf"))
        z = z - z.amax(dim=-1, keepdim=True)
        p = z.exp()
        p = p / p.sum(dim=-1, keepdim=True)
        ctx.save_for_backward(p)
        ctx.tau = tau
        return p

    @staticmethod
    def backward(ctx, gp):
        p, = ctx.saved_tensors
        gz = p * (gp - (gp * p).sum(dim=-1, keepdim=True))
        return gz, None, None
