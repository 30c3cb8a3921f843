import paddle
from paddle.autograd import PyLayer


class DirichletEnergy(PyLayer):
    """sum_e w_e |f_i - f_j|^2 ; edge_index has shape (2, E)"""

    @staticmethod
    def forward(ctx, f, edge_index, w):
        src, dst = edge_index[0], edge_index[1]
        d = paddle.gather(f, src) - paddle.gather(f, dst)
        ctx.save_for_backward(src, dst, d, w)
        ctx.n = f.shape[0]
        return (w * (d ** 2).sum(1)).sum()

    @staticmethod
    def backward(ctx, g):
        src, dst, d, w = ctx.saved_tensor()
        flow = 2 * g * w.unsqueeze(1) * d
        out = paddle.zeros([ctx.n, d.shape[1]], dtype=d.dtype)
        out = paddle.index_add(out, src, 0, flow)
        out = paddle.index_add(out, dst, 0, -flow)
        return out, None, g * (d ** 2).sum(1)
