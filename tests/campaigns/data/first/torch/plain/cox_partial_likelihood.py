import torch


class CoxPH(torch.autograd.Function):
    """risk sorted by decreasing survival time, so the risk set of i is 0..i"""

    @staticmethod
    def forward(ctx, risk, event):
        lse = torch.logcumsumexp(risk, 0)
        n = event.sum()
        ctx.save_for_backward(risk, event, lse)
        return -((risk - lse) * event).sum() / n

    @staticmethod
    def backward(ctx, g):
        risk, event, lse = ctx.saved_tensors
        ev = event.to(risk.dtype)
        w = torch.exp(risk[None, :] - lse[:, None]).tril() * ev[:, None]
        return -g * (ev - w.sum(0)) / ev.sum(), None
