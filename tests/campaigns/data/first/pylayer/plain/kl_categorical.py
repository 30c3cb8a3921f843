import paddle
from paddle.autograd import PyLayer
from paddle.nn.functional import log_softmax


class KLCategorical(PyLayer):
    """KL(softmax(a) || softmax(b)) over the last axis"""

    @staticmethod
    def forward(ctx, a, b):
        la, lb = log_softmax(a), log_softmax(b)
        p = la.exp()
        kl = (p * (la - lb)).sum(-1)
        ctx.save_for_backward(la, lb, kl)
        return kl

    @staticmethod
    def backward(ctx, g):
        la, lb, kl = ctx.saved_tensor()
        p, q = la.exp(), lb.exp()
        g = g.unsqueeze(-1)
        return g * p * (la - lb - kl.unsqueeze(-1)), g * (q - p)
