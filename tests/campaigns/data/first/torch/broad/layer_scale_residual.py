import torch


class LayerScaleResidual(torch.autograd.Function):
    """x + gamma * branch, gamma per feature (CaiT / ConvNeXt)."""

    @staticmethod
    def forward(ctx, x, branch, gamma):
        if x.shape != branch.shape or gamma.shape != x.shape[-1:]:
            raise ValueError("x, branch [..., D]; gamma [D]")
        ctx.save_for_backward(branch, gamma)
        return x + gamma * branch

    @staticmethod
    def backward(ctx, g):
        branch, gamma = ctx.saved_tensors
        dgamma = None
        if ctx.needs_input_grad[2]:
            dgamma = (g * branch).reshape(-1, gamma.numel()).mean(0)
        return g, g * gamma, dgamma
