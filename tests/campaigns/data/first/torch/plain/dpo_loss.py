import torch
from torch.nn.functional import logsigmoid


class DPO(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pi_w, pi_l, ref_w, ref_l, beta=0.1):
        h = beta * ((pi_w - ref_w) - (pi_l - ref_l))
        ctx.save_for_backward(h)
        ctx.beta = beta
        return -logsigmoid(h).mean()

    @staticmethod
    def backward(ctx, g):
        h, = ctx.saved_tensors
        s = g * ctx.beta * torch.sigmoid(-h) / h.numel()
        return -s, s, s, -s, None
