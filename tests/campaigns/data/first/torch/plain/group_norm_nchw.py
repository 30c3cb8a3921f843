import torch


class GroupNormFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b, groups, eps=1e-5):
        N, C, H, W = x.shape
        xg = x.view(N, groups, C // groups, H, W)
        mean = xg.mean((2, 3, 4), keepdim=True)
        var = xg.var((2, 3, 4), unbiased=False, keepdim=True)
        rstd = (var + eps).rsqrt()
        xn = (xg - mean) * rstd
        ctx.save_for_backward(xn, rstd, w)
        return xn.view_as(x) * w[None, :, None, None] + b[None, :, None, None]

    @staticmethod
    def backward(ctx, gy):
        xn, rstd, w = ctx.saved_tensors
        N, C, H, W = gy.shape
        gw = (gy * xn.view_as(gy)).sum((0, 2, 3))
        gb = gy.sum((0, 2, 3))
        gxn = (gy * w[None, :, None, None]).view_as(xn)
        dims = (2, 3, 4)
        gx = rstd * (gxn - gxn.mean((3, 4), keepdim=True) - xn * (gxn * xn).mean(dims, keepdim=True))
        return gx.view_as(gy), gw, gb, None, None
