import torch


def _box_area(b):
    return (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])


class GIoU(torch.autograd.Function):
    """boxes (N,4) as x1,y1,x2,y2; overlapping boxes expected"""

    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        iw = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0)
        inter = iw[:, 0] * iw[:, 1]
        union = _box_area(a) + _box_area(b) - inter
        cw = torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])
        hull = cw[:, 0] * cw[:, 1]
        return 1 - inter / union + (hull - union) / hull

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        iw = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0)
        cw = torch.maximum(a[:, 2:], b[:, 2:]) - torch.minimum(a[:, :2], b[:, :2])
        inter, hull = iw.prod(1), cw.prod(1)
        union = _box_area(a) + _box_area(b) - inter
        g_int = -g / union
        g_uni = g * (inter / union ** 2 - 1 / hull)
        g_hull = g * union / hull ** 2
        g_int = g_int - g_uni
        gi = g_int[:, None] * iw.flip(1) * (iw > 0)
        gc = g_hull[:, None] * cw.flip(1)

        def grad(s, o, with_hull=True):
            wh = s[:, 2:] - s[:, :2]
            ga = g_uni[:, None] * wh.flip(1)
            lo = -ga - gi * (s[:, :2] > o[:, :2])
            hi = ga + gi * (s[:, 2:] < o[:, 2:])
            if with_hull:
                lo = lo - gc * (s[:, :2] < o[:, :2])
                hi = hi + gc * (s[:, 2:] > o[:, 2:])
            return torch.cat([lo, hi], 1)

        return grad(a, b), grad(b, a, False)
