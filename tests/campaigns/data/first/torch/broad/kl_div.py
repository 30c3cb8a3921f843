import torch


class KlDiv(torch.autograd.Function):
    """Pointwise KL divergence, batch mean.

    input: log-probabilities; target: probabilities, or log-probabilities
    with log_target=True.  No gradient for the target (teacher).
    """

    @staticmethod
    def forward(ctx, input, target, log_target=False):
        if input.shape != target.shape or input.dim() < 1:
            raise ValueError("input and target must have one shape [batch, ...]")
        ctx.save_for_backward(target)
        if log_target:
            out = target.exp() * (target - input)
        else:
            out = torch.xlogy(target, target) - target * input
        return out.sum() / input.shape[0]

    @staticmethod
    def backward(ctx, grad):
        (target,) = ctx.saved_tensors
        return -grad * target / target.shape[0], None, None
