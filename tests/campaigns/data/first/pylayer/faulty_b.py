import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class TokenNLL(PyLayer):
    """Cross entropy averaged over non-ignored tokens.

    logits [..., V], labels [...] (integer)
    """

    @staticmethod
    def forward(ctx, logits, labels, ignore_index=-100):
        v = logits.shape[-1]
        if labels.shape != logits.shape[:-1]:
            raise ValueError("labels must have the shape of logits without the class axis")
        z = logits.reshape([-1, v])
        y = labels.reshape([-1]).astype("int64")
        keep = y != ignore_index
        y = paddle.where(keep, y, paddle.zeros_like(y))
        if bool(((y < 0) | (y >= v)).any()):
            raise ValueError("label out of range")
        m = keep.astype(z.dtype)
        logp = F.log_softmax(z, axis=-1)
        nll = -paddle.take_along_axis(logp, y.unsqueeze(1), 1).squeeze(1)
        ctx.save_for_backward(logp, y, m)
        ctx.shape = logits.shape
        return (nll * m).sum() / max(float(m.sum()), 1.0)

    @staticmethod
    def backward(ctx, dloss):
        logp, y, m = ctx.saved_tensor()
        n, v = logp.shape
        d = logp.exp() - F.one_hot(y, v).astype(logp.dtype)
        d = d * m.unsqueeze(1) * (dloss / n)
        return d.reshape(ctx.shape), None


class SoftDice(PyLayer):
    @staticmethod
    def forward(ctx, p, t, smooth=1.0):
        if p.shape != t.shape or p.ndim < 2:
            raise ValueError("p and t: [N, ...] alike")
        n = p.shape[0]
        pf, tf = p.reshape([n, -1]), t.reshape([n, -1])
        num = 2 * (pf * tf).sum(1, keepdim=True) + smooth
        den = (pf * pf).sum(1, keepdim=True) + (tf * tf).sum(1, keepdim=True) + smooth
        ctx.save_for_backward(pf, tf, num, den)
        ctx.shape = p.shape
        ctx.need_t = not t.stop_gradient
        return 1 - (num / den).mean()

    @staticmethod
    def backward(ctx, dy):
        p, t, num, den = ctx.saved_tensor()
        c = -dy / p.shape[0]
        gp = c * 2 * t / den
        gt = None
        if ctx.need_t:
            gt = (c * 2 * (p * den - t * num) / (den * den)).reshape(ctx.shape)
        return gp.reshape(ctx.shape), gt


class SmoothL1(PyLayer):
    """Weighted Huber, mean over all entries."""

    @staticmethod
    def forward(ctx, pred, target, weight, delta=1.0):
        if not (pred.shape == target.shape == weight.shape):
            raise ValueError("pred, target and weight must agree in shape")
        r = pred - target
        a = r.abs()
        h = paddle.where(a <= delta, 0.5 * r * r, delta * (a - 0.5 * delta))
        ctx.save_for_backward(r, h, weight)
        ctx.delta = delta
        return (weight * h).mean()

    @staticmethod
    def backward(ctx, dy):
        r, h, w = ctx.saved_tensor()
        slope = paddle.where(r.abs() <= ctx.delta, r, paddle.full_like(r, ctx.delta))
        d = dy * w * slope / r.size
        return d, -d, dy * h / r.size


class TripletLoss(PyLayer):
    @staticmethod
    def forward(ctx, a, p, n, margin=0.3):
        if a.ndim != 2 or not (a.shape == p.shape == n.shape):
            raise ValueError("three [N, D] tensors please")
        dp = (a - p).square().sum(axis=-1)
        dn = (a - n).square().sum(axis=-1)
        ctx.save_for_backward(a, p, n)
        return F.relu(dp - dn + margin).mean()

    @staticmethod
    def backward(ctx, dy):
        a, p, n = ctx.saved_tensor()
        c = 2 * dy / a.shape[0]
        return c * (n - p), c * (p - a), c * (a - n)


class KLBatchMean(PyLayer):
    """KL(q || softmax(z)) averaged over the batch, z and q [N, K]."""

    @staticmethod
    def forward(ctx, z, q):
        if z.ndim != 2 or z.shape != q.shape:
            raise ValueError("z and q must be [N, K]")
        logp = F.log_softmax(z, axis=1)
        ctx.save_for_backward(logp, q)
        ctx.q_fixed = q.stop_gradient
        qc = q.clip(min=1e-12)
        return (q * (qc.log() - logp)).sum() / z.shape[0]

    @staticmethod
    def backward(ctx, dy):
        logp, q = ctx.saved_tensor()
        n = q.shape[0]
        dz = (logp.exp() * q.sum(axis=1, keepdim=True) - q) / n
        if ctx.q_fixed:
            return dz, None
        live = (q > 1e-12).astype(q.dtype)
        return dz, (q.clip(min=1e-12).log() + live - logp) / n


class GaussianNLL(PyLayer):
    """0.5 * (logvar + (y - mu)^2 / var), no reduction."""

    @staticmethod
    def forward(ctx, mu, logvar, y):
        if not (mu.shape == logvar.shape == y.shape):
            raise ValueError("mu, logvar, y must agree")
        r = y - mu
        iv = paddle.exp(-logvar)
        ctx.save_for_backward(r, iv)
        return 0.5 * (logvar + r * r * iv)

    @staticmethod
    def backward(ctx, dy):
        r, iv = ctx.saved_tensor()
        dmu = -dy * r * iv
        dlv = 0.5 * dy * (1 - r * r)
        return dmu, dlv, -dmu


class InfoNCE(PyLayer):
    """Contrastive loss, positives on the diagonal. q, k [N, D]."""

    @staticmethod
    def forward(ctx, q, k, tau=0.5):
        if q.ndim != 2 or q.shape != k.shape:
            raise ValueError("q and k must be [N, D]")
        s = paddle.matmul(q, k, transpose_y=True) / tau
        logp = F.log_softmax(s, axis=1)
        ctx.save_for_backward(q, k, logp.exp())
        ctx.tau = tau
        return -paddle.diagonal(logp).mean()

    @staticmethod
    def backward(ctx, dy):
        q, k, p = ctx.saved_tensor()
        n = q.shape[0]
        ds = (p - paddle.eye(n, dtype=p.dtype)) * (dy / (n * ctx.tau))
        return paddle.matmul(ds, k), paddle.matmul(ds, q)


class BCEProb(PyLayer):
    """Binary cross entropy on probabilities with integer labels."""

    @staticmethod
    def forward(ctx, p, label, eps=1e-7):
        if p.shape != label.shape:
            raise ValueError("shape mismatch")
        t = label.astype(p.dtype)
        q = p.clip(eps, 1 - eps)
        ctx.save_for_backward(q, t)
        return -(t * q.log() + (1 - t) * paddle.log1p(-q)).mean()

    @staticmethod
    def backward(ctx, dy):
        q, t = ctx.saved_tensor()
        return dy * (q - t) / (q * (1 - q)) / q.size, None
