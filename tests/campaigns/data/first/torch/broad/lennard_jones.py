import torch


class LennardJones(torch.autograd.Function):
    """12-6 pair energy 4 eps [(sigma/r)^12 - (sigma/r)^6]; all [pairs]-like, one shape."""

    @staticmethod
    def forward(ctx, r, epsilon, sigma):
        if not (r.shape == epsilon.shape == sigma.shape):
            raise ValueError("r, epsilon and sigma must share a shape")
        s6 = (sigma / r) ** 6
        ctx.save_for_backward(r, epsilon, sigma, s6)
        return 4 * epsilon * (s6 * s6 - s6)

    @staticmethod
    def backward(ctx, g):
        r, epsilon, sigma, s6 = ctx.saved_tensors
        slope = 24 * epsilon * (2 * s6 * s6 - s6)
        d_r = g * slope / r
        d_eps = g * 4 * (s6 * s6 - s6)
        d_sigma = g * slope / sigma
        return d_r, d_eps, d_sigma
