import paddle
from paddle.autograd import PyLayer


class IDW(PyLayer):
    """Shepard interpolation with weights (d^2 + 0.1)^(-p/2)"""

    @staticmethod
    def forward(ctx, query, sites, values, p=2.0):
        diff = query.unsqueeze(1) - sites.unsqueeze(0)
        d2 = (diff * diff).sum(-1) + 0.1
        w = d2 ** (-p / 2)
        wn = w / w.sum(1, keepdim=True)
        out = paddle.matmul(wn, values)
        ctx.save_for_backward(diff, d2, wn, values, out)
        ctx.p = p
        return out

    @staticmethod
    def backward(ctx, g):
        diff, d2, wn, values, out = ctx.saved_tensor()
        gl = g.unsqueeze(1) * wn * values.unsqueeze(0)
        t = (-ctx.p * gl / d2).unsqueeze(-1) * diff
        return t.sum(1), -t.sum(0), paddle.matmul(g, wn)
