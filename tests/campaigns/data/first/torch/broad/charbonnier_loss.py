import torch


class CharbonnierLoss(torch.autograd.Function):
    """sqrt((pred - target)^2 + eps^2), for image restoration."""

    @staticmethod
    def forward(ctx, pred, target, eps=1e-3, reduction="sum"):
        if pred.shape != target.shape:
            raise ValueError("pred/target shape")
        if reduction not in ("sum", "mean", "none"):
            raise ValueError(reduction)
        d = pred - target
        loss = torch.sqrt(d * d + eps * eps)
        ctx.save_for_backward(d, loss)
        if reduction == "none":
            return loss
        return loss.sum() if reduction == "sum" else loss.mean()

    @staticmethod
    def backward(ctx, g):
        d, loss = ctx.saved_tensors
        gd = g * d / loss
        return gd, -gd, None, None
