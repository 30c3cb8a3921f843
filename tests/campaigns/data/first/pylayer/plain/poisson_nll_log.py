import paddle
from paddle.autograd import PyLayer


class PoissonNLL(PyLayer):
    @staticmethod
    def forward(ctx, log_rate, count, full=False):
        rate = paddle.exp(log_rate)
        loss = rate - count * log_rate
        if full:
            loss = loss + paddle.lgamma(count + 1)
        ctx.save_for_backward(log_rate, rate, count)
        ctx.full = full
        return loss.mean()

    @staticmethod
    def backward(ctx, g):
        log_rate, rate, count = ctx.saved_tensor()
        n = float(rate.size)
        gc = -log_rate
        if ctx.full:
            gc = gc + paddle.digamma(count + 1)
        return g * (rate - count) / n, g * gc / n
