import torch


class Huber(torch.autograd.Function):
    @staticmethod
    def forward(ctx, pred, target, delta: float = 1.0, reduction: str = "mean"):
        r = pred - target
        small = r.abs() <= delta
        loss = torch.where(small, 0.5 * r * r, delta * (r.abs() - 0.5 * delta))
        ctx.save_for_backward(r)
        ctx.delta, ctx.reduction = delta, reduction
        return loss.mean() if reduction == "mean" else loss.sum()

    @staticmethod
    def backward(ctx, g):
        (r,) = ctx.saved_tensors
        gr = g * r.clamp(-ctx.delta, ctx.delta)
        if ctx.reduction == "mean":
            gr = gr / r.shape[0]
        return gr, -gr, None, None
