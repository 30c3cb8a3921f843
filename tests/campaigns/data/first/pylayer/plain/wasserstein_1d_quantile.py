import paddle
from paddle.autograd import PyLayer


class Wasserstein1D(PyLayer):
    """mean |sort(x) - sort(y)|^p for two samples of equal size"""

    @staticmethod
    def forward(ctx, x, y, p=2):
        ix, iy = paddle.argsort(x), paddle.argsort(y)
        d = paddle.gather(x, ix) - paddle.gather(y, iy)
        ctx.save_for_backward(ix, iy, d)
        ctx.p = p
        return (d.abs() ** p).mean()

    @staticmethod
    def backward(ctx, g):
        ix, iy, d = ctx.saved_tensor()
        gd = g * ctx.p * d.abs() ** (ctx.p - 1) * paddle.sign(d) / float(d.size)
        gx = paddle.gather(gd, ix)
        gy = -paddle.gather(gd, paddle.argsort(iy))
        return gx, gy
