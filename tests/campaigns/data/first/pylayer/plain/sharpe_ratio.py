import paddle
from paddle.autograd import PyLayer


class SharpeRatio(PyLayer):
    """mean excess return over the sample standard deviation, last axis is time"""

    @staticmethod
    def forward(ctx, returns, risk_free=0.0):
        ex = returns - risk_free
        m = ex.mean(-1, keepdim=True)
        sd = ex.std(-1, keepdim=True)
        ctx.save_for_backward(ex, m, sd)
        return (m / sd).squeeze(-1)

    @staticmethod
    def backward(ctx, g):
        ex, m, sd = ctx.saved_tensor()
        n = ex.shape[-1]
        dsd = (ex - m) / (n * sd)
        return g.unsqueeze(-1) * (1.0 / (n * sd) - m / (sd * sd) * dsd)
