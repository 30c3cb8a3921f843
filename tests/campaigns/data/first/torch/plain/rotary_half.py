import torch


def rotate(x1, x2, c, s):
    return x1 * c - x2 * s, x1 * s + x2 * c


class RotaryHalf(torch.autograd.Function):
    """x: (..., T, D); angle: (T, D/2)"""

    @staticmethod
    def forward(ctx, x, angle):
        d = x.shape[-1] // 2
        c, s = angle.cos(), angle.sin()
        y1, y2 = rotate(x[..., :d], x[..., d:], c, s)
        ctx.save_for_backward(y1, y2, c, s)
        return torch.cat((y1, y2), -1)

    @staticmethod
    def backward(ctx, gy):
        y1, y2, c, s = ctx.saved_tensors
        d = y1.shape[-1]
        g1, g2 = gy[..., :d], gy[..., d:]
        gx = torch.cat(rotate(g1, g2, c, s), -1)
        # d y1/d theta = -y2, d y2/d theta = y1
        ga = g2 * y1 - g1 * y2
        while ga.dim() > c.dim():
            ga = ga.sum(0)
        return gx, ga
