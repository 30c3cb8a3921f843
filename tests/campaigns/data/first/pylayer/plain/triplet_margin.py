import paddle
from paddle.autograd import PyLayer


class TripletMargin(PyLayer):
    @staticmethod
    def forward(ctx, a, p, n, margin=1.0):
        dp = ((a - p) ** 2).sum(-1)
        dn = ((a - n) ** 2).sum(-1)
        loss = paddle.clip(dp - dn + margin, min=0.0)
        active = (loss > 0).astype(a.dtype)
        ctx.save_for_backward(a, p, n, active)
        return loss.mean()

    @staticmethod
    def backward(ctx, g):
        a, p, n, active = ctx.saved_tensor()
        w = 2 * g * paddle.ones_like(active).unsqueeze(-1) / active.shape[0]
        return w * (n - p), w * (p - a), w * (a - n)
