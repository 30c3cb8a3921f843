import torch


class ScaledPixelShuffle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, gain, r: int = 2):
        B, C, H, W = x.shape
        o = C // (r * r)
        y = x.reshape(B, o, r, r, H, W).permute(0, 1, 4, 2, 5, 3).reshape(B, o, H * r, W * r)
        ctx.save_for_backward(y, gain)
        ctx.r = r
        return y * gain.view(1, -1, 1, 1)

    @staticmethod
    def backward(ctx, g):
        y, gain = ctx.saved_tensors
        r = ctx.r
        B, o, H, W = g.shape
        gg = (g * y).sum(dim=(0, 2, 3))
        gx = (g * gain.view(1, -1, 1, 1)).reshape(B, o, H // r, r, W // r, r)
        gx = gx.permute(0, 1, 3, 5, 2, 4).reshape(B, o * r * r, H // r, W // r)
        return gx, gg, None
