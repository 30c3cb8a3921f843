import paddle
from paddle.autograd import PyLayer


class Coulomb(PyLayer):
    """0.5 * sum_{i != j} q_i q_j / sqrt(r^2 + s^2)"""

    @staticmethod
    def forward(ctx, pos, q, soft=0.2):
        d = pos.unsqueeze(1) - pos.unsqueeze(0)
        inv = ((d * d).sum(-1) + soft ** 2) ** -0.5
        inv = inv * (1 - paddle.eye(pos.shape[0], dtype=pos.dtype))
        ctx.save_for_backward(d, inv, q)
        return 0.5 * (q.unsqueeze(1) * q.unsqueeze(0) * inv).sum()

    @staticmethod
    def backward(ctx, g):
        d, inv, q = ctx.saved_tensor()
        qq = q.unsqueeze(1) * q.unsqueeze(0)
        gpos = -g * ((qq * inv ** 3).unsqueeze(-1) * d).sum(1)
        gq = g * 0.5 * paddle.matmul(inv, q)
        return gpos, gq
