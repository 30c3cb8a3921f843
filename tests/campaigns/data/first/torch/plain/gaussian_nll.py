import torch


def unbroadcast(g, shape):
    extra = g.dim() - len(shape)
    if extra:
        g = g.sum(tuple(range(extra)))
    for i, s in enumerate(shape):
        if s == 1 and g.shape[i] != 1:
            g = g.sum(i, keepdim=True)
    return g


class GaussianNLL(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y, mu, logvar):
        r = y - mu
        prec = torch.exp(-logvar)
        ctx.save_for_backward(r, prec)
        ctx.shapes = y.shape, mu.shape, logvar.shape
        return 0.5 * (logvar + r * r * prec)

    @staticmethod
    def backward(ctx, g):
        r, prec = ctx.saved_tensors
        gy = g * r * prec
        glv = g * (0.5 - r * r * prec)
        sy, sm, sl = ctx.shapes
        return unbroadcast(gy, sy), unbroadcast(-gy, sm), unbroadcast(glv, sl)
