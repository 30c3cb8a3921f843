import torch


class Tversky(torch.autograd.Function):
    """1 - TP / (TP + alpha FP + beta FN), per row"""

    @staticmethod
    def forward(ctx, p, t, alpha=0.3, beta=0.7, smooth=1.0):
        tp = (p * t).sum(1)
        fp = (p * (1 - t)).sum(1)
        fn = ((1 - p) * t).sum(1)
        num = tp + smooth
        den = tp + alpha * fp + beta * fn + smooth
        ctx.save_for_backward(p, t, num, den)
        ctx.ab = alpha, beta
        return 1 - num / den

    @staticmethod
    def backward(ctx, g):
        p, t, num, den = ctx.saved_tensors
        alpha, beta = ctx.ab
        num, den, g = num[:, None], den[:, None], g[:, None]
        dden_p = t + alpha * (1 - t) - beta * t
        dden_t = p - beta * p + alpha * (1 - p)
        gp = -(t * den - num * dden_p) / den ** 2
        gt = -(p * den - num * dden_t) / den ** 2
        return g * gp, g * gt, None, None, None
