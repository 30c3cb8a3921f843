import torch
import torch.nn.functional as F


class SigmoidFocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y, gamma=2.0, alpha=0.25):
        # work with the signed logit so that p is the probability of the true class
        sgn = 2 * y - 1
        z = x * sgn
        p = torch.sigmoid(z)
        a = alpha * y + (1 - alpha) * (1 - y)
        ctx.save_for_backward(z, sgn, a)
        ctx.gamma = gamma
        return -a * (1 - p) ** gamma * F.logsigmoid(z)

    @staticmethod
    def backward(ctx, g):
        z, sgn, a = ctx.saved_tensors
        p = torch.sigmoid(z)
        q = 1 - p
        dz = a * q ** ctx.gamma * (ctx.gamma * p * F.logsigmoid(z) - q * p)
        return g * dz * sgn, None, None, None
