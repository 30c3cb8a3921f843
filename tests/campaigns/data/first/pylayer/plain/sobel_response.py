import paddle
from paddle.autograd import PyLayer

KX = ((-1, 0, 1), (-2, 0, 2), (-1, 0, 1))


class SobelX(PyLayer):
    """valid 3x3 horizontal Sobel, squashed by x / sqrt(1 + x^2)"""

    @staticmethod
    def forward(ctx, im):
        H, W = im.shape[-2] - 2, im.shape[-1] - 2
        r = sum(KX[i][j] * im[..., i:i + H, j:j + W] for i in range(3) for j in range(3) if KX[i][j])
        ctx.save_for_backward(r)
        ctx.full = im.shape
        return r / paddle.sqrt(1 + r * r)

    @staticmethod
    def backward(ctx, g):
        r, = ctx.saved_tensor()
        gr = g * (1 + r * r) ** -1.5
        H, W = r.shape[-2], r.shape[-1]
        out = paddle.zeros(ctx.full, dtype=g.dtype)
        for i in range(3):
            for j in range(3):
                if KX[i][j]:
                    out[..., i:i + H, j:j + W] = out[..., i:i + H, j:j + W] + KX[i][j] * gr
        return out
