import paddle
import numpy as np
from paddle.autograd import PyLayer


class SegmentMax(PyLayer):
    """max over the rows that share a segment id; empty segments give 0"""

    @staticmethod
    def forward(ctx, x, seg, num):
        xv, sv = x.numpy(), seg.numpy()
        out = np.zeros((num,) + xv.shape[1:], xv.dtype)
        arg = np.full((num,) + xv.shape[1:], -1)
        for s in range(num):
            rows = np.nonzero(sv == s)[0]
            if rows.size:
                k = xv[rows].argmax(0)
                out[s] = xv[rows].max(0)
                arg[s] = rows[k]
        ctx.arg, ctx.shape = arg, xv.shape
        return paddle.to_tensor(out)

    @staticmethod
    def backward(ctx, g):
        gv = g.numpy()
        gx = np.zeros(ctx.shape, gv.dtype)
        for pos in np.ndindex(*ctx.arg.shape):
            if ctx.arg[pos] >= 0:
                gx[(ctx.arg[pos],) + pos[1:]] += gv[pos]
        return paddle.to_tensor(gx), None
