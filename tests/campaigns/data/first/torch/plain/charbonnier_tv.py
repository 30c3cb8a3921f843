import torch


class CharbonnierTV(torch.autograd.Function):
    @staticmethod
    def forward(ctx, img, eps=1e-2):
        dx = img[..., :, 1:] - img[..., :, :-1]
        dy = img[..., 1:, :] - img[..., :-1, :]
        rx = (dx * dx + eps ** 2).sqrt()
        ry = (dy * dy + eps ** 2).sqrt()
        ctx.save_for_backward(dx, dy, rx, ry)
        ctx.shape = img.shape
        return rx.sum() + ry.sum()

    @staticmethod
    def backward(ctx, g):
        dx, dy, rx, ry = ctx.saved_tensors
        out = torch.zeros(ctx.shape, dtype=dx.dtype)
        ux, uy = dx / rx, dy / ry
        out[..., :, 1:] += ux
        out[..., :, :-1] -= ux
        out[..., 1:, :] += uy
        out[..., :-1, :] += uy
        return g * out, None
