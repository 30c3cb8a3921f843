import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class TopKGate(PyLayer):
    """softmax over the k largest logits of each row, zeros elsewhere; also returns the chosen columns"""

    @staticmethod
    def forward(ctx, logits, k=2):
        val, idx = paddle.topk(logits, k, axis=-1)
        w = F.softmax(val, axis=-1)
        hot = F.one_hot(idx, logits.shape[-1]).astype(logits.dtype)
        dense = (w.unsqueeze(-1) * hot).sum(1)
        ctx.save_for_backward(dense)
        ctx.mark_non_differentiable(idx)
        return dense, idx

    @staticmethod
    def backward(ctx, g, _):
        p, = ctx.saved_tensor()
        return p * (g - (g * p).sum(-1, keepdim=True))
