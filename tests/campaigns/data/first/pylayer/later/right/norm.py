import paddle
from paddle.autograd import PyLayer


class InstNorm(PyLayer):
    @staticmethod
    def forward(ctx, x, w, b, eps=1e-5):
        mu = x.mean(axis=2, keepdim=True)
        d = x - mu
        rstd = paddle.rsqrt((d * d).mean(axis=2, keepdim=True) + eps)
        xhat = d * rstd
        ctx.save_for_backward(xhat, rstd, w)
        return xhat * w.reshape([1, -1, 1]) + b.reshape([1, -1, 1])

    @staticmethod
    def backward(ctx, dy):
        xhat, rstd, w = ctx.saved_tensor()
        g = dy * w.reshape([1, -1, 1])
        dx = rstd * (g - g.mean(axis=2, keepdim=True) - xhat * (g * xhat).mean(axis=2, keepdim=True))
        return dx, (dy * xhat).sum(axis=2).sum(axis=0), dy.sum(axis=[0, 2])


class ScaleNorm(PyLayer):
    """g * x / |x| with one learned g."""

    @staticmethod
    def forward(ctx, x, g):
        n = paddle.sqrt(paddle.sum(x * x, axis=-1, keepdim=True))
        ctx.save_for_backward(x, g, n)
        return g * x / n

    @staticmethod
    def backward(ctx, dy):
        x, g, n = ctx.saved_tensor()
        u = x / n
        dot = paddle.sum(dy * u, axis=-1, keepdim=True)
        return g * (dy - u * dot) / n, paddle.sum(dot).reshape(g.shape)


class MeanStd(PyLayer):
    """Statistics pooling: the mean and the standard deviation over axis 1."""

    @staticmethod
    def forward(ctx, x):
        m = paddle.mean(x, axis=1)
        d = x - m.unsqueeze(1)
        s = paddle.sqrt(paddle.mean(d * d, axis=1) + 1e-6)
        ctx.save_for_backward(d, s)
        return m, s

    @staticmethod
    def backward(ctx, dm, ds):
        d, s = ctx.saved_tensor()
        n = d.shape[1]
        return (dm.unsqueeze(1) + d * (ds / s).unsqueeze(1)) / n
