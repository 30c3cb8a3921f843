import torch


class LoRALinear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, W, A, B, alpha=8.0):
        scale = alpha / A.shape[0]
        h = x @ A.t()
        ctx.save_for_backward(x, h, W, A, B)
        ctx.scale = scale
        return x @ W.t() + scale * (h @ B.t())

    @staticmethod
    def backward(ctx, gy):
        x, h, W, A, B = ctx.saved_tensors
        gy2 = gy.reshape(-1, gy.shape[-1])
        x2 = x.reshape(-1, x.shape[-1])
        h2 = h.reshape(-1, h.shape[-1])
        gh = gy2 @ B
        gx = gy2 @ W + gh @ A
        gB = ctx.scale * gy2.t() @ h2
        return gx.view_as(x), gy2.t() @ x2, gh.t() @ x2, gB, None
