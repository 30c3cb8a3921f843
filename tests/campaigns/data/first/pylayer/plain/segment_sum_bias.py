import paddle
from paddle.autograd import PyLayer


class SegmentSumBias(PyLayer):
    """relu-free segment sum of tanh(x + bias): x (N, D), bias (D,), seg (N,)"""

    @staticmethod
    def forward(ctx, x, bias, seg, num_seg):
        t = paddle.tanh(x + bias)
        ctx.save_for_backward(t, seg)
        out = paddle.zeros([num_seg, x.shape[1]], dtype=x.dtype)
        return paddle.index_add(out, seg, 0, t)

    @staticmethod
    def backward(ctx, g):
        t, seg = ctx.saved_tensor()
        gx = paddle.gather(g, seg) * (1 - t * t)
        return gx, gx.mean(0), None
