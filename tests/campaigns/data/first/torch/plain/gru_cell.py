import torch


class GRUPointwise(torch.autograd.Function):
    """gi = x W, gh = h U, both (B, 3H) ordered r, z, n; returns new hidden"""

    @staticmethod
    def forward(ctx, gi, gh, h):
        ir, iz, in_ = gi.chunk(3, 1)
        hr, hz, hn = gh.chunk(3, 1)
        r = torch.sigmoid(ir + hr)
        z = torch.sigmoid(iz + hz)
        n = torch.tanh(in_ + r * hn)
        ctx.save_for_backward(r, z, n, hn, h)
        return n + z * (h - n)

    @staticmethod
    def backward(ctx, gy):
        r, z, n, hn, h = ctx.saved_tensors
        dn = gy * (1 - z) * (1 - n * n)
        dz = gy * (h - n) * z * (1 - z)
        dr = dn * hn * r * (1 - r)
        gi = torch.cat([dr, dz, dn], 1)
        gh = torch.cat([dr, dz, dn * r], 1)
        return gi, gh, gy * z
