import torch


class TverskyLoss(torch.autograd.Function):
    """1 - TP / (TP + alpha FP + beta FN), over the whole tensor."""

    @staticmethod
    def forward(ctx, probs, target, alpha=0.3, beta=0.7, smooth=1.0):
        if probs.shape != target.shape:
            raise ValueError("shape mismatch")
        tp = (probs * target).sum()
        fp = (probs * (1 - target)).sum()
        fn = ((1 - probs) * target).sum()
        num = tp + smooth
        den = tp + alpha * fp + beta * fn + smooth
        ctx.save_for_backward(target, num, den)
        ctx.alpha, ctx.beta = alpha, beta
        return 1 - num / den

    @staticmethod
    def backward(ctx, grad):
        target, num, den = ctx.saved_tensors
        dden = target + ctx.beta * (1 - target) - ctx.alpha * target
        dp = -(target * den - num * dden) / den**2
        return grad * dp, None, None, None, None
