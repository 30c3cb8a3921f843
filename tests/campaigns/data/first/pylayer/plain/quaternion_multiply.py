import paddle
from paddle.autograd import PyLayer


def hamilton(p, q):
    a1, b1, c1, d1 = paddle.unbind(p, axis=-1)
    a2, b2, c2, d2 = paddle.unbind(q, axis=-1)
    return paddle.stack([
        a1 * a2 - b1 * b2 - c1 * c2 - d1 * d2,
        a1 * b2 + b1 * a2 + c1 * d2 - d1 * c2,
        a1 * c2 - b1 * d2 + c1 * a2 + d1 * b2,
        a1 * d2 + b1 * c2 - c1 * b2 + d1 * a2], axis=-1)


def conj(q):
    return paddle.concat([q[..., :1], -q[..., 1:]], axis=-1)


class QuatMul(PyLayer):
    @staticmethod
    def forward(ctx, p, q):
        ctx.save_for_backward(p, q)
        return hamilton(p, q)

    @staticmethod
    def backward(ctx, g):
        p, q = ctx.saved_tensor()
        return hamilton(g, conj(q)), hamilton(conj(p), g)
