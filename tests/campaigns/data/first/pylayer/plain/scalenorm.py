import paddle
from paddle.autograd import PyLayer


class ScaleNorm(PyLayer):
    """g * x / sqrt(|x|^2 + eps)"""

    @staticmethod
    def forward(ctx, x, g, eps=5e-2):
        inv = 1.0 / paddle.sqrt((x * x).sum(-1, keepdim=True) + eps)
        u = x * inv
        ctx.save_for_backward(u, inv, g)
        ctx.eps = eps
        return g * u

    @staticmethod
    def backward(ctx, dy):
        u, inv, g = ctx.saved_tensor()
        dot = (dy * u).sum(-1, keepdim=True)
        dx = g * inv * (dy - u * dot / (u * u).sum(-1, keepdim=True))
        return dx, dot.sum().reshape([1])
