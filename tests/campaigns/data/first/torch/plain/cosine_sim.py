import torch

class CosSim(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        na = a.norm(dim=-1, keepdim=True)
        nb = b.norm(dim=-1, keepdim=True)
        c = (a * b).sum(-1, keepdim=True) / (na * nb)
        ctx.save_for_backward(a, b, na, nb, c)
        return c.squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        a, b, na, nb, c = ctx.saved_tensors
        g = g.unsqueeze(-1)
        ga = g * (b / (na * nb) - c * a / na)
        gb = g * (a / (na * nb) - c * b / nb.square())
        return ga, gb
