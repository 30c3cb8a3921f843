import paddle
from paddle.autograd import PyLayer


class CosineEmbeddingLoss(PyLayer):
    @staticmethod
    def forward(ctx, x1, x2, label, margin=0.0):
        n1 = x1.norm(axis=1, keepdim=True)
        n2 = x2.norm(axis=1, keepdim=True)
        u, v = x1 / n1, x2 / n2
        cos = (u * v).sum(1, keepdim=True)
        pos = (label == 1).astype(x1.dtype).unsqueeze(1)
        hinge = paddle.clip(cos - margin, min=0.0)
        coef = -pos + (1 - pos) * (hinge > 0).astype(x1.dtype)
        ctx.save_for_backward(u, v, cos, n1, n2, coef)
        return (pos * (1 - cos) + (1 - pos) * hinge).squeeze(1)

    @staticmethod
    def backward(ctx, g):
        u, v, cos, n1, n2, coef = ctx.saved_tensor()
        w = g.unsqueeze(1) * coef
        return w * (v - cos * u) / n1, w * (u - cos * v) / n2, None
