import paddle
from paddle.autograd import PyLayer


class LogisticRollout(PyLayer):
    """x <- r x (1 - x), iterated; returns the whole orbit stacked on axis 0"""

    @staticmethod
    def forward(ctx, x, r, steps=5):
        orbit = [x]
        for _ in range(steps):
            x = r * x * (1 - x)
            orbit.append(x)
        orbit = paddle.stack(orbit)
        ctx.save_for_backward(orbit, r)
        return orbit[1:]

    @staticmethod
    def backward(ctx, g):
        orbit, r = ctx.saved_tensor()
        gx, gr = paddle.zeros_like(r), paddle.zeros_like(r)
        for t in range(g.shape[0] - 1, -1, -1):
            gx = gx + g[t]
            x = orbit[t]
            gr = gr + gx * x * (1 - x)
            gx = gx * r * (1 - 2 * x)
        return gx, gr
