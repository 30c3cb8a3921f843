import torch


class KLDiag(torch.autograd.Function):
    @staticmethod
    def forward(ctx, m1, ls1, m2, ls2):
        # ls = log std
        vr = torch.exp(2 * (ls1 - ls2))
        d = (m1 - m2) * torch.exp(-ls2)
        ctx.save_for_backward(vr, d, ls2)
        return (ls2 - ls1 + 0.5 * (vr + d * d) - 0.5).sum(-1)

    @staticmethod
    def backward(ctx, g):
        vr, d, ls2 = ctx.saved_tensors
        g = g.unsqueeze(-1)
        gm = g * d * torch.exp(-ls2)
        return gm, g * (vr - 1), -gm, g * (1 - vr - d ** 2)
