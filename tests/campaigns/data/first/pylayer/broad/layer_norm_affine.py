import paddle
from paddle.autograd import PyLayer


class LayerNormAffine(PyLayer):
    """Layer norm over the last axis with affine parameters."""

    @staticmethod
    def forward(ctx, x, weight, bias, epsilon=1e-5):
        if list(weight.shape) != [x.shape[-1]] or list(bias.shape) != [x.shape[-1]]:
            raise ValueError("weight and bias must be [x.shape[-1]]")
        mu = paddle.mean(x, axis=-1, keepdim=True)
        xc = x - mu
        rstd = paddle.rsqrt(paddle.mean(xc * xc, axis=-1, keepdim=True) + epsilon)
        xhat = xc * rstd
        ctx.save_for_backward(xhat, rstd, weight)
        return xhat * weight + bias

    @staticmethod
    def backward(ctx, dy):
        xhat, rstd, weight = ctx.saved_tensor()
        d = weight.shape[0]
        g = dy * weight
        dx = rstd * (g - paddle.mean(g, axis=-1, keepdim=True))
        dw = paddle.sum(paddle.reshape(dy * xhat, [-1, d]), axis=0)
        db = paddle.sum(paddle.reshape(dy, [-1, d]), axis=0)
        return dx, dw, db
