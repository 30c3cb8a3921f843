import paddle
from paddle.autograd import PyLayer
import paddle.nn.functional as F


class MinGRU(PyLayer):
    """h_t = (1 - z_t) h_{t-1} + z_t * g_t, z = sigmoid(gate), g = tanh(cand); (B, T, D)"""

    @staticmethod
    def forward(ctx, gate, cand, h0):
        z, c = F.sigmoid(gate), paddle.tanh(cand)
        h, prevs, outs = h0, [], []
        for t in range(gate.shape[1]):
            prevs.append(h)
            h = h + z[:, t] * (c[:, t] - h)
            outs.append(h)
        ctx.save_for_backward(z, c, paddle.stack(prevs, 1))
        return paddle.stack(outs, 1)

    @staticmethod
    def backward(ctx, g):
        z, c, prev = ctx.saved_tensor()
        carry = paddle.zeros_like(g[:, 0])
        adj = []
        for t in range(g.shape[1] - 1, -1, -1):
            carry = carry + g[:, t]
            adj.append(carry)
            carry = carry * (1 - z[:, t])
        adj = paddle.stack(adj[::-1], 1)
        return adj * (c - prev) * z * (1 - z), adj * z * (1 - c * c), carry
