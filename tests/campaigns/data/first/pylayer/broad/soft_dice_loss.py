import paddle
from paddle.autograd import PyLayer


class SoftDiceLoss(PyLayer):
    """1 - mean over the batch of the soft Dice score.

    probs, target: [batch, ...] of one shape; the rest is flattened.
    """

    @staticmethod
    def forward(ctx, probs, target, smooth=1.0):
        if list(probs.shape) != list(target.shape) or probs.ndim < 2:
            raise ValueError("probs and target: same shape, at least 2-D")
        n = probs.shape[0]
        p = paddle.reshape(probs, [n, -1])
        t = paddle.reshape(target, [n, -1])
        num = 2.0 * paddle.sum(p * t, axis=1, keepdim=True) + smooth
        den = paddle.sum(p, axis=1, keepdim=True) + paddle.sum(t, axis=1, keepdim=True) + smooth
        ctx.save_for_backward(t, num, den)
        ctx.shape = probs.shape
        return 1.0 - paddle.mean(num / den)

    @staticmethod
    def backward(ctx, dy):
        t, num, den = ctx.saved_tensor()
        dp = -(2.0 * t * den - num) / (den * den)
        return paddle.reshape(dy * dp, ctx.shape), None
