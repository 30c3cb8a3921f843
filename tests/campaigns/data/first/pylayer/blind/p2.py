import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class SmoothL1(PyLayer):
    @staticmethod
    def forward(ctx, x, y, beta=1.0, reduction="mean"):
        if x.shape != y.shape:
            raise ValueError("shapes differ")
        if beta <= 0:
            raise ValueError("beta must be positive")
        d = x - y
        a = paddle.abs(d)
        loss = paddle.where(a < beta, 0.5 * d * d / beta, a - 0.5 * beta)
        ctx.save_for_backward(d)
        ctx.beta, ctx.reduction = beta, reduction
        if reduction == "mean":
            return loss.mean()
        if reduction == "sum":
            return loss.sum()
        if reduction == "none":
            return loss
        raise ValueError("reduction must be 'mean', 'sum' or 'none'")

    @staticmethod
    def backward(ctx, dy):
        (d,) = ctx.saved_tensor()
        s = paddle.clip(d / ctx.beta, -1.0, 1.0) * dy
        if ctx.reduction == "mean":
            n = 1
            for k in d.shape:
                n *= k
            s = s / n
        return s, -s


class WeightedLogitLoss(PyLayer):
    @staticmethod
    def forward(ctx, z, t, pos_weight=1.0):
        if z.shape != t.shape:
            raise ValueError("shapes differ")
        ctx.save_for_backward(z, t)
        return (1 - t) * z + (1 + (pos_weight - 1) * t) * F.softplus(-z)

    @staticmethod
    def backward(ctx, dy):
        z, t = ctx.saved_tensor()
        return dy * (F.sigmoid(z) - t), None


class MarginRank(PyLayer):
    @staticmethod
    def forward(ctx, a, b, y, margin=0.1):
        if a.shape != b.shape or a.shape != y.shape:
            raise ValueError("shapes differ")
        v = margin - y.astype(a.dtype) * (a - b)
        ctx.save_for_backward(v, y)
        return F.relu(v)

    @staticmethod
    def backward(ctx, dy):
        v, y = ctx.saved_tensor()
        d = dy * (v > 0).astype(dy.dtype) * y.astype(dy.dtype)
        return -d, d, None


class CenterLoss(PyLayer):
    @staticmethod
    def forward(ctx, x, labels, centers):
        if x.ndim != 2 or centers.ndim != 2 or labels.ndim != 1 or labels.shape[0] != x.shape[0] or x.shape[1] != centers.shape[1]:
            raise ValueError("expected x (N, D), labels (N,), centers (C, D)")
        d = x - paddle.gather(centers, labels, axis=0)
        ctx.save_for_backward(d, labels, centers)
        return 0.5 * (d * d).sum()

    @staticmethod
    def backward(ctx, dy):
        d, labels, centers = ctx.saved_tensor()
        dc = paddle.scatter(paddle.zeros_like(centers), labels, -dy * d, overwrite=True)
        return dy * d, None, dc


class JensenShannon(PyLayer):
    @staticmethod
    def forward(ctx, p, q):
        if p.ndim < 1 or p.shape != q.shape:
            raise ValueError("shapes differ")
        m = 0.5 * (p + q)
        lp, lq = paddle.log(p / m), paddle.log(q / m)
        ctx.save_for_backward(lp, lq)
        return 0.5 * (p * lp + q * lq).sum(axis=-1)

    @staticmethod
    def backward(ctx, dy):
        lp, lq = ctx.saved_tensor()
        dy = dy.unsqueeze(-1)
        return 0.5 * dy * lp, 0.5 * dy * lq


class GaussianNLL(PyLayer):
    @staticmethod
    def forward(ctx, mu, logvar, target):
        if mu.shape != logvar.shape or mu.shape != target.shape:
            raise ValueError("shapes differ")
        e = target - mu
        w = paddle.exp(-logvar)
        ctx.save_for_backward(e, w)
        return 0.5 * (logvar + e * e * w).sum()

    @staticmethod
    def backward(ctx, dy):
        e, w = ctx.saved_tensor()
        return -dy * e * w, 0.5 * dy * (1 + e * e * w), dy * e * w


class SmoothVariation(PyLayer):
    @staticmethod
    def forward(ctx, img, eps=1e-3):
        if img.ndim != 2 or img.shape[0] < 2 or img.shape[1] < 2:
            raise ValueError("expected an image")
        dx = img[:-1, 1:] - img[:-1, :-1]
        dv = img[1:, :-1] - img[:-1, :-1]
        r = paddle.sqrt(dx * dx + dv * dv + eps)
        ctx.save_for_backward(dx / r, dv / r)
        return r.sum()

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_tensor()
        z_col, z_row = paddle.zeros_like(a[:, :1]), paddle.zeros_like(a[:1, :])
        right = paddle.concat([z_col, a], axis=1) - paddle.concat([a, z_col], axis=1)
        z_row2 = paddle.zeros_like(right[:1, :])
        right = paddle.concat([right, z_row2], axis=0)
        down = paddle.concat([z_row, b], axis=0) - paddle.concat([b, z_row], axis=0)
        down = paddle.concat([down, paddle.zeros_like(down[:, :1])], axis=1)
        return dy * (right + down)


class MeanEntropy(PyLayer):
    @staticmethod
    def forward(ctx, logits):
        if logits.ndim != 2:
            raise ValueError("expected (N, C)")
        logp = F.log_softmax(logits, axis=1)
        ctx.save_for_backward(logp)
        return -(paddle.exp(logp) * logp).sum(axis=1).mean()

    @staticmethod
    def backward(ctx, dy):
        (logp,) = ctx.saved_tensor()
        return -dy * paddle.exp(logp) * logp / logp.shape[0]


class SquaredHinge(PyLayer):
    @staticmethod
    def forward(ctx, score, label):
        if score.shape != label.shape:
            raise ValueError("shapes differ")
        y = label.astype(score.dtype)
        v = F.relu(1 - y * score)
        ctx.save_for_backward(v, y)
        return (v * v).mean()

    @staticmethod
    def backward(ctx, dy):
        v, y = ctx.saved_tensor()
        return -dy * (v * y) / max(v.size, 1), None


class RelativeError(PyLayer):
    @staticmethod
    def forward(ctx, pred, target, eps=0.1):
        if pred.shape != target.shape:
            raise ValueError("shapes differ")
        if eps <= 0:
            raise ValueError("eps must be positive")
        den = paddle.clip(paddle.abs(target), min=eps)
        ctx.save_for_backward(pred, target, den)
        ctx.eps = eps
        return (paddle.abs(pred - target) / den).sum()

    @staticmethod
    def backward(ctx, dy):
        pred, target, den = ctx.saved_tensor()
        s = paddle.sign(pred - target) / den
        big = (paddle.abs(target) > ctx.eps).astype(dy.dtype)
        dt = -s - paddle.abs(pred - target) / (den * den) * paddle.sign(target) * big
        return dy * s, dy * dt
