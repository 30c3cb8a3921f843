import torch


class GradMag(torch.autograd.Function):
    """central differences on the interior, sqrt(gx^2 + gy^2 + eps)"""

    @staticmethod
    def forward(ctx, im, eps=1e-2):
        gx = 0.5 * (im[..., 1:-1, 2:] - im[..., 1:-1, :-2])
        gy = 0.5 * (im[..., 2:, 1:-1] - im[..., :-2, 1:-1])
        mag = torch.sqrt(gx ** 2 + gy ** 2 + eps)
        ctx.save_for_backward(gx / mag, gy / mag)
        ctx.shape = im.shape
        return mag

    @staticmethod
    def backward(ctx, g):
        ux, uy = ctx.saved_tensors
        out = g.new_zeros(ctx.shape)
        hx, hy = 0.5 * g * ux, 0.5 * g * uy
        out[..., 1:-1, 2:] += hx
        out[..., 1:-1, :-2] -= hx
        out[..., 2:, 1:-1] += hy
        out[..., :-2, 1:-1] -= hy
        return out, None
