import math
import torch


class StudentT(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, loc, log_scale, nu):
        z = (x - loc) * torch.exp(-log_scale)
        ctx.save_for_backward(z, log_scale, nu)
        return (torch.lgamma((nu + 1) / 2) - torch.lgamma(nu / 2) - 0.5 * torch.log(math.pi * nu)
                - log_scale - 0.5 * (nu + 1) * torch.log1p(z * z / nu))

    @staticmethod
    def backward(ctx, g):
        z, ls, nu = ctx.saved_tensors
        w = (nu + 1) / (nu + z * z)
        gx = -g * w * z * torch.exp(-ls)
        gls = g * (w * z * z - 1)
        psi = torch.digamma
        gnu = 0.5 * (psi((nu + 1) / 2) - psi(nu / 2) - 1 / nu - torch.log1p(z * z / nu) + w * z * z / nu)
        return gx, -gx, gls, g * gnu
