import paddle
from paddle.autograd import PyLayer


class ClippedValueLoss(PyLayer):
    """PPO value loss: mean max((v - R)^2, (v_old + clip(v - v_old) - R)^2)"""

    @staticmethod
    def forward(ctx, v, v_old, ret, eps=0.2):
        d = v - v_old
        vc = v_old + paddle.clip(d, -eps, eps)
        e1, e2 = v - ret, vc - ret
        use1 = (e1 * e1 >= e2 * e2).astype(v.dtype)
        inside = (d.abs() < eps).astype(v.dtype)
        ctx.save_for_backward(e1, e2, use1, inside)
        return paddle.maximum(e1 * e1, e2 * e2).mean()

    @staticmethod
    def backward(ctx, g):
        e1, e2, use1, inside = ctx.saved_tensor()
        s = g / float(e1.size)
        a = 2 * s * use1 * e1
        b = s * (1 - use1) * e2
        return a + b * inside, b * (1 - inside), -(a + b)
