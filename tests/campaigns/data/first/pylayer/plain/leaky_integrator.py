import paddle
from paddle.autograd import PyLayer


class LeakyIntegrator(PyLayer):
    """v_t = leak * v_{t-1} + (1 - leak) * tanh(i_t); returns all potentials"""

    @staticmethod
    def forward(ctx, current, v0, leak=0.5):
        drive = paddle.tanh(current)
        v, trace = v0, []
        for t in range(current.shape[0]):
            v = leak * v + (1 - leak) * drive[t]
            trace.append(v)
        ctx.save_for_backward(drive)
        ctx.leak = leak
        return paddle.stack(trace)

    @staticmethod
    def backward(ctx, g):
        (drive,) = ctx.saved_tensor()
        gv = paddle.zeros_like(g[0])
        gi = []
        for t in reversed(range(g.shape[0])):
            gv = gv + g[t]
            gi.append(gv * (1 - ctx.leak) * (1 - drive[t] ** 2))
            gv = gv * (1 - ctx.leak)
        return paddle.stack(gi[::-1]), gv
