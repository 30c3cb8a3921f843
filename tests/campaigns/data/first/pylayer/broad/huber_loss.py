import paddle
from paddle.autograd import PyLayer


class HuberLoss(PyLayer):
    """Elementwise Huber loss, averaged."""

    @staticmethod
    def forward(ctx, pred, label, delta=1.0):
        assert list(pred.shape) == list(label.shape)
        err = pred - label
        a = paddle.abs(err)
        ctx.save_for_backward(err)
        ctx.delta = delta
        loss = paddle.where(a <= delta, 0.5 * err * err, delta * (a - 0.5 * delta))
        return paddle.mean(loss)

    @staticmethod
    def backward(ctx, dy):
        err, = ctx.saved_tensor()
        inner = paddle.abs(err) <= ctx.delta
        g = paddle.where(inner, err, paddle.sign(err))
        g = dy * g / err.size
        return g, -g
