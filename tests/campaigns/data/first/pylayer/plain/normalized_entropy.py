import math
import paddle
from paddle.autograd import PyLayer
import paddle.nn.functional as F


class AttentionEntropy(PyLayer):
    """entropy of softmax(x / t) divided by log(n)"""

    @staticmethod
    def forward(ctx, x, t=1.0):
        lp = F.log_softmax(x / t, axis=-1)
        p = lp.exp()
        H = -(p * lp).sum(-1, keepdim=True)
        c = 1.0 / math.log(x.shape[-1])
        ctx.save_for_backward(p, lp, H)
        ctx.c, ctx.t = c, t
        return (H * c).squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        p, lp, H = ctx.saved_tensor()
        return -g.unsqueeze(-1) * ctx.c * p * (lp + H) / ctx.t
