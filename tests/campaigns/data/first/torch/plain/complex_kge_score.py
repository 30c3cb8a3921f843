import torch


def _split(z):
    return z.chunk(2, -1)


class ComplExScore(torch.autograd.Function):
    """Re <h, r, conj(t)>; each row is [real | imag]"""

    @staticmethod
    def forward(ctx, h, r, t):
        ctx.save_for_backward(h, r, t)
        (a, b), (c, d), (e, f) = map(_split, (h, r, t))
        return (e * (a * c - b * d) + f * (a * d + b * c)).sum(-1)

    @staticmethod
    def backward(ctx, g):
        (a, b), (c, d), (e, f) = map(_split, ctx.saved_tensors)
        g = g[..., None]
        gh = torch.cat([e * c + f * d, f * c - e * d], -1)
        gr = torch.cat([e * a + f * b, f * a - e * b], -1)
        gt = torch.cat([a * c - b * d, a * d + b * c], -1)
        return g * gh, g * gr, g * gt
