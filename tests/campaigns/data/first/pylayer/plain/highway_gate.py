import paddle
from paddle.autograd import PyLayer
import paddle.nn.functional as F


class Highway(PyLayer):
    @staticmethod
    def forward(ctx, x, h_pre, t_pre):
        h, t = F.relu(h_pre), F.sigmoid(t_pre)
        ctx.save_for_backward(x, h, t)
        return t * h + (1 - t) * x

    @staticmethod
    def backward(ctx, g):
        x, h, t = ctx.saved_tensor()
        return (g,
                g * t * (h > 0).astype(g.dtype),
                g * (h - x) * t * (1 - t))
