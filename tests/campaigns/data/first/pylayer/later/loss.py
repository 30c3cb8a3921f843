import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class BceLogits(PyLayer):
    """Mean binary cross entropy of logits, a weight for the positives of each column."""

    @staticmethod
    def forward(ctx, x, y, pos_weight):
        ctx.save_for_backward(x, y, pos_weight)
        return paddle.mean(pos_weight * y * F.softplus(-x) + (1 - y) * F.softplus(x))

    @staticmethod
    def backward(ctx, g):
        x, y, w = ctx.saved_tensor()
        g = g / x.size
        dx = g * ((1 - y) * F.sigmoid(x) - w * y * F.sigmoid(-x))
        dy = g * (w * F.softplus(-x) - F.softplus(x))
        dw = g * (y * F.softplus(-x)).reshape([-1, x.shape[-1]]).sum(axis=0)
        return dx, dy, dw


class CosEmbedLoss(PyLayer):
    @staticmethod
    def forward(ctx, a, b, label, margin=0.2):
        na = paddle.sqrt((a * a).sum(axis=-1))
        nb = paddle.sqrt((b * b).sum(axis=-1))
        c = (a * b).sum(axis=-1) / (na * nb)
        ctx.save_for_backward(a, b, na, nb, c, label)
        ctx.margin = margin
        return paddle.where(label > 0, 1 - c, F.relu(c - margin)).mean()

    @staticmethod
    def backward(ctx, g):
        a, b, na, nb, c, label = ctx.saved_tensor()
        far = (c > ctx.margin).astype(a.dtype)
        w = paddle.where(label > 0, -paddle.ones_like(c), far) * g / c.shape[0]
        w = w.unsqueeze(-1)
        na, nb, c = na.unsqueeze(-1), nb.unsqueeze(-1), c.unsqueeze(-1)
        da = w * (b / (na * nb) - c * a / (na * na))
        db = w * (a / (na * nb) - c * b / (nb * nb))
        return da, db, None


class ArcMargin(PyLayer):
    """s * cos(acos(c) + m) at the label, s * c elsewhere."""

    @staticmethod
    def forward(ctx, c, label, m=0.5, s=16.0):
        hot = F.one_hot(label, c.shape[-1]).astype(c.dtype)
        t = paddle.acos(c)
        ctx.save_for_backward(t, hot)
        ctx.m, ctx.s = m, s
        return s * (hot * paddle.cos(t + m) + (1 - hot) * c)

    @staticmethod
    def backward(ctx, g):
        t, hot = ctx.saved_tensor()
        d = paddle.sin(t + ctx.m)
        return ctx.s * g * (hot * d + (1 - hot)), None


class MaskedMSE(PyLayer):
    @staticmethod
    def forward(ctx, pred, target, mask, reduction="mean"):
        d = (pred - target) * mask
        ctx.save_for_backward(d, mask)
        ctx.reduction = reduction
        if reduction == "none":
            return d * d
        total = (d * d).sum()
        return total / mask.sum() if reduction == "mean" else total

    @staticmethod
    def backward(ctx, g):
        d, mask = ctx.saved_tensor()
        dp = 2 * g * d * mask
        if ctx.reduction != "none":
            dp = dp / mask.sum()
        return dp, -dp, None


class PinballLoss(PyLayer):
    """Quantile loss: pred (N, Q), target (N,), levels tau (Q,)."""

    @staticmethod
    def forward(ctx, pred, target, tau):
        e = target.unsqueeze(1) - pred
        ctx.save_for_backward(e, tau)
        return paddle.maximum(tau * e, (tau - 1) * e).mean()

    @staticmethod
    def backward(ctx, g):
        e, tau = ctx.saved_tensor()
        pos = (e > 0).astype(e.dtype)
        de = g * (tau - 1 + pos) / e.size
        return -de, de.sum(axis=1), (g * e / e.size).sum(axis=0)


class GroupDRO(PyLayer):
    """Log-sum-exp over groups of the groups' mean losses."""

    @staticmethod
    def forward(ctx, losses, group, n_groups=2):
        hot = F.one_hot(group, n_groups).astype(losses.dtype)
        count = hot.sum(axis=0) + 1e-6
        means = paddle.matmul(losses.unsqueeze(0), hot).squeeze(0) / count
        ctx.save_for_backward(hot, count, means)
        return paddle.logsumexp(means)

    @staticmethod
    def backward(ctx, g):
        hot, _count, means = ctx.saved_tensor()
        w = g * F.softmax(means, axis=0) / hot.shape[0]
        return paddle.matmul(hot, w.unsqueeze(1)).squeeze(1), None
