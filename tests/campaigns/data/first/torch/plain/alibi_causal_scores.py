import torch


class AlibiSoftmax(torch.autograd.Function):
    """scores (..., H, T, T) + slope_h * (j - i), causal softmax"""

    @staticmethod
    def forward(scores, slopes):
        T = scores.shape[-1]
        pos = torch.arange(T, device=scores.device)
        rel = (pos[None, :] - pos[:, None]).to(scores.dtype)
        z = scores + slopes[:, None, None] * rel
        z = z.masked_fill(rel > 0, float("-inf"))
        return z.softmax(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, gp):
        (p,) = ctx.saved_tensors
        T = p.shape[-1]
        pos = torch.arange(T, device=p.device)
        rel = (pos[None, :] - pos[:, None]).to(p.dtype)
        dz = p * (gp - (gp * p).sum(-1, keepdim=True))
        dslope = (dz * rel).sum((-1, -2))
        if dslope.dim() > 1:
            dslope = dslope.flatten(0, -2).sum(0)
        return dz, dslope
