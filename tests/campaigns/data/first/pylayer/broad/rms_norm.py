import paddle
from paddle.autograd import PyLayer


class RmsNorm(PyLayer):
    @staticmethod
    def forward(ctx, x, weight, epsilon=1e-6):
        if weight.ndim != 1 or weight.shape[0] != x.shape[-1]:
            raise ValueError("weight must be [hidden], hidden = x.shape[-1]")
        rstd = paddle.rsqrt(paddle.mean(x * x, axis=-1, keepdim=True) + epsilon)
        ctx.save_for_backward(x, weight, rstd)
        return x * rstd * weight

    @staticmethod
    def backward(ctx, dy):
        x, weight, rstd = ctx.saved_tensor()
        xhat = x * rstd
        g = dy * weight
        dx = rstd * (g - xhat * paddle.mean(g * xhat, axis=-1, keepdim=True))
        dw = paddle.sum(paddle.reshape(dy * xhat, [-1, weight.shape[0]]), axis=0)
        return dx, dw
