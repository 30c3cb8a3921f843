import paddle
from paddle.autograd import PyLayer


class MaskedSoftmax(PyLayer):
    # scores: [..., q, k]; mask: bool, True = attend, broadcasts to scores.
    # A row with nothing to attend to gives zeros rather than NaN.
    @staticmethod
    def forward(ctx, scores, mask, scale=1.0):
        keep = paddle.cast(paddle.expand_as(mask, scores), scores.dtype)
        s = scores * scale
        s = s * keep - 1e9 * (1.0 - keep)
        s = s - paddle.max(s, axis=-1, keepdim=True)
        e = paddle.exp(s) * keep
        z = paddle.sum(e, axis=-1, keepdim=True)
        prob = e / paddle.where(z > 0, z, paddle.ones_like(z))
        ctx.save_for_backward(prob)
        ctx.scale = scale
        return prob

    @staticmethod
    def backward(ctx, dprob):
        prob, = ctx.saved_tensor()
        inner = paddle.sum(dprob * prob, axis=-1, keepdim=True)
        return ctx.scale * prob * (dprob - inner), None
