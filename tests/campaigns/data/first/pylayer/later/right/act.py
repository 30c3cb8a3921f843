import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class ReGLU(PyLayer):
    @staticmethod
    def forward(ctx, x):
        a, b = paddle.chunk(x, 2, axis=-1)
        ctx.save_for_backward(a, b)
        return F.relu(a) * b

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensor()
        on = (a > 0).astype(g.dtype)
        return paddle.concat([g * b * on, g * F.relu(a)], axis=-1)


class CeluFn(PyLayer):
    @staticmethod
    def forward(ctx, x, alpha=1.0):
        ctx.save_for_backward(x)
        ctx.alpha = alpha
        return paddle.maximum(x, paddle.zeros_like(x)) + alpha * paddle.expm1(
            paddle.minimum(x, paddle.zeros_like(x)) / alpha
        )

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        return g * paddle.where(x > 0, paddle.ones_like(x), paddle.exp(x / ctx.alpha))


class Softplus2(PyLayer):
    """log(1 + exp(beta x)) / beta, x itself beyond the threshold."""

    @staticmethod
    def forward(ctx, x, beta=1.0, threshold=20.0):
        ctx.save_for_backward(x)
        ctx.beta, ctx.threshold = beta, threshold
        z = beta * x
        soft = paddle.log1p(paddle.exp(paddle.clip(z, max=threshold))) / beta
        return paddle.where(z > threshold, x, soft)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensor()
        z = ctx.beta * x
        d = F.sigmoid(z)
        return paddle.where(z > ctx.threshold, g, g * d)


class TanhMix(PyLayer):
    """(1 - m) * tanh(x) + m * x with m = sigmoid(w), one w for each column."""

    @staticmethod
    def forward(ctx, x, w):
        t = paddle.tanh(x)
        m = F.sigmoid(w)
        ctx.save_for_backward(x, t, m)
        return (1 - m) * t + m * x

    @staticmethod
    def backward(ctx, g):
        x, t, m = ctx.saved_tensor()
        dx = g * ((1 - m) * (1 - t * t) + m)
        dw = g * (x - t) * m * (1 - m)
        while dw.ndim > m.ndim:
            dw = dw.sum(axis=0)
        return dx, dw


class Pact(PyLayer):
    """Clips to [0, alpha] and rounds to 2^bits - 1 steps."""

    @staticmethod
    def forward(ctx, x, alpha, bits=4):
        step = alpha / (2**bits - 1)
        y = paddle.minimum(F.relu(x), alpha)
        ctx.save_for_backward(x, alpha)
        return paddle.round(y / step) * step

    @staticmethod
    def backward(ctx, g):
        x, alpha = ctx.saved_tensor()
        inside = paddle.logical_and(x > 0, x < alpha).astype(g.dtype)
        over = (x >= alpha).astype(g.dtype)
        return g * inside, paddle.sum(g * over).reshape(alpha.shape)


def pact_clip(x, alpha, bits=4):
    return paddle.minimum(F.relu(x), alpha)


SURROGATE_Pact = {"forward": pact_clip}
