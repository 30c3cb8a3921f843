"""Focal loss for dense detection heads (binary, from logits)."""
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class SigmoidFocalLoss(PyLayer):
    """FL(p_t) = -alpha_t (1 - p_t)^gamma log(p_t).

    Labels are constants: no gradient is produced for ``targets``.
    """

    @staticmethod
    def forward(ctx, logits, targets, alpha=0.25, gamma=2.0, reduction="mean"):
        if list(logits.shape) != list(targets.shape):
            raise ValueError("logits and targets must have the same shape")
        if reduction not in ("mean", "sum", "none"):
            raise ValueError("unknown reduction " + str(reduction))
        p = F.sigmoid(logits)
        # log1p(exp(-|x|)) form, safe for large logits
        ce = paddle.maximum(logits, paddle.zeros_like(logits)) - logits * targets
        ce = ce + paddle.log1p(paddle.exp(-paddle.abs(logits)))
        p_t = p * targets + (1.0 - p) * (1.0 - targets)
        a_t = alpha * targets + (1.0 - alpha) * (1.0 - targets)
        loss = a_t * paddle.pow(1.0 - p_t, gamma) * ce
        ctx.save_for_backward(p, targets, ce, p_t, a_t)
        ctx.gamma = gamma
        ctx.reduction = reduction
        if reduction == "mean":
            return paddle.mean(loss)
        if reduction == "sum":
            return paddle.sum(loss)
        return loss

    @staticmethod
    def backward(ctx, dy):
        p, targets, ce, p_t, a_t = ctx.saved_tensor()
        gamma = ctx.gamma
        dpt = (2.0 * targets - 1.0) * p * (1.0 - p)
        mod = paddle.pow(1.0 - p_t, gamma)
        dmod = -gamma * paddle.pow(1.0 - p_t, gamma - 1.0) * dpt
        dx = a_t * (mod * (p - targets) + dmod * ce)
        if ctx.reduction == "mean":
            n = 1
            for s in p.shape:
                n *= s
            dx = dx / n
        return dy * dx, None
