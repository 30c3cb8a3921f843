import paddle
from paddle.autograd import PyLayer


class SpringEnergy(PyLayer):
    @staticmethod
    def forward(ctx, x, edges, k, rest):
        i, j = edges[:, 0], edges[:, 1]
        v = paddle.gather(x, i) - paddle.gather(x, j)
        L = v.norm(axis=1)
        ctx.save_for_backward(edges, v, L, k, rest)
        ctx.n = x.shape[0]
        return 0.5 * k * (L - rest) ** 2

    @staticmethod
    def backward(ctx, g):
        edges, v, L, k, rest = ctx.saved_tensor()
        s = L - rest
        f = (g * k * s / L).unsqueeze(1) * v
        gx = paddle.zeros([ctx.n, v.shape[1]], dtype=v.dtype)
        gx = paddle.index_add(gx, edges[:, 0], 0, f)
        gx = paddle.index_add(gx, edges[:, 1], 0, -f)
        return gx, None, 0.5 * g * s ** 2, -g * k * s
