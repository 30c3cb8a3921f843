import torch


class CosineSimilarity(torch.autograd.Function):
    """Cosine similarity along the last axis."""

    @staticmethod
    def forward(ctx, x, y):
        if x.shape != y.shape:
            raise ValueError("x and y must have the same shape")
        nx = x.norm(dim=-1, keepdim=True)
        ny = y.norm(dim=-1, keepdim=True)
        xh, yh = x / nx, y / ny
        cos = (xh * yh).sum(-1, keepdim=True)
        ctx.save_for_backward(xh, yh, nx, ny, cos)
        return cos.squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        xh, yh, nx, ny, cos = ctx.saved_tensors
        g = g.unsqueeze(-1)
        gx = g * (yh - cos * xh) / nx
        gy = g * xh / ny
        return gx, gy
