import math

import torch


class StudentTLogProb(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, nu, loc, scale):
        z = (x - loc) / scale
        ctx.save_for_backward(z, nu, scale)
        return (
            torch.lgamma((nu + 1) / 2)
            - torch.lgamma(nu / 2)
            - 0.5 * torch.log(nu * math.pi)
            - torch.log(scale)
            - (nu + 1) / 2 * torch.log1p(z * z / nu)
        )

    @staticmethod
    def backward(ctx, g):
        z, nu, scale = ctx.saved_tensors
        r = z * z / nu
        dz = -(nu + 1) * z / nu / (1 + r)
        dnu = (
            0.5 * torch.digamma((nu + 1) / 2)
            - 0.5 * torch.digamma(nu / 2)
            - 0.5 / nu
            - 0.5 * torch.log1p(r)
            + 0.5 * (nu + 1) / nu * r / (1 + r)
        )
        return g * dz / scale, g * dnu, -g * dz / scale, g * (-1 - dz * z) / scale


class GaussNLL(torch.autograd.Function):
    """0.5 (logvar + (x - mu)^2 / exp(logvar)), the mean over everything."""

    @staticmethod
    def forward(ctx, mu, logvar, x):
        iv = torch.exp(-logvar)
        d = x - mu
        ctx.save_for_backward(d, iv)
        return 0.5 * (logvar + d * d * iv).mean()

    @staticmethod
    def backward(ctx, g):
        d, iv = ctx.saved_tensors
        g = g / d.numel()
        dmu = -g * d * iv
        return dmu, 0.5 * g * (1 - d * d), -dmu


class VonMises(torch.autograd.Function):
    @staticmethod
    def forward(ctx, theta, mu, kappa):
        ctx.save_for_backward(theta, mu, kappa)
        return kappa * torch.cos(theta - mu) - math.log(2 * math.pi) - torch.log(torch.special.i0e(kappa)) - kappa.abs()

    @staticmethod
    def backward(ctx, g):
        theta, mu, kappa = ctx.saved_tensors
        s = g * kappa * torch.sin(theta - mu)
        ratio = torch.special.i1e(kappa) / torch.special.i0e(kappa)
        return -s, s, g * (torch.cos(theta - mu) - ratio)
