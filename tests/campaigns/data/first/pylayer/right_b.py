import math

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class MaskedCrossEntropy(PyLayer):
    """Mean token NLL; positions labelled ignore_index do not count.

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
        n = max(float(m.sum()), 1.0)
        logp = F.log_softmax(z, axis=-1)
        nll = -paddle.take_along_axis(logp, y.unsqueeze(1), 1).squeeze(1)
        ctx.save_for_backward(logp, y, m)
        ctx.n = n
        ctx.shape = logits.shape
        return (nll * m).sum() / n

    @staticmethod
    def backward(ctx, dloss):
        logp, y, m = ctx.saved_tensor()
        d = logp.exp() - F.one_hot(y, logp.shape[1]).astype(logp.dtype)
        d = d * (m / ctx.n).unsqueeze(1) * dloss
        return d.reshape(ctx.shape), None


class SoftTargetCE(PyLayer):
    """Distillation cross entropy, per sample. Target rows need not sum to one."""

    @staticmethod
    def forward(ctx, z, q, axis=-1):
        assert z.ndim > 0 and z.shape == q.shape
        logp = F.log_softmax(z, axis=axis)
        ctx.save_for_backward(logp, q)
        ctx.axis = axis
        ctx.fixed_q = q.stop_gradient
        return -(q * logp).sum(axis=axis)

    @staticmethod
    def backward(ctx, dy):
        logp, q = ctx.saved_tensor()
        ax = ctx.axis
        g = dy.unsqueeze(ax)
        dz = g * (logp.exp() * q.sum(axis=ax, keepdim=True) - q)
        return dz, None if ctx.fixed_q else -g * logp


class SigmoidFocal(PyLayer):
    """RetinaNet focal loss on logits, binary integer targets, summed / num_pos."""

    @staticmethod
    def forward(ctx, x, t, gamma=2.0, alpha=0.25):
        if x.shape != t.shape:
            raise ValueError("shape mismatch")
        if t.is_floating_point() or bool(((t != 0) & (t != 1)).any()):
            raise TypeError("targets must be integer 0/1")
        t = t.astype(x.dtype)
        s = 2 * t - 1
        xt = s * x
        a = alpha * t + (1 - alpha) * (1 - t)
        p = F.sigmoid(xt)
        logp = F.log_sigmoid(xt)
        npos = max(float(t.sum()), 1.0)
        ctx.save_for_backward(s, a, p, logp)
        ctx.gamma, ctx.npos = gamma, npos
        return -(a * (1 - p) ** gamma * logp).sum() / npos

    @staticmethod
    def backward(ctx, dy):
        s, a, p, logp = ctx.saved_tensor()
        gm = ctx.gamma
        q = 1 - p
        d = gm * q ** gm * p * logp - q ** (gm + 1)
        return dy * s * a * d / ctx.npos, None


class HuberLoss(PyLayer):
    """Sum(w * huber(pred - target)) / N. Sample weights are constants."""

    @staticmethod
    def forward(ctx, pred, target, weight, delta=1.0):
        if not (pred.shape == target.shape == weight.shape):
            raise ValueError("pred, target and weight must agree in shape")
        r = pred - target
        a = r.abs()
        h = paddle.where(a <= delta, 0.5 * r * r, delta * (a - 0.5 * delta))
        ctx.save_for_backward(r, weight)
        ctx.delta = delta
        ctx.target_grad = not target.stop_gradient
        return (weight * h).mean()

    @staticmethod
    def backward(ctx, dy):
        r, w = ctx.saved_tensor()
        d = dy * w * r.clip(-ctx.delta, ctx.delta) / r.size
        return d, (-d if ctx.target_grad else None), None


class DiceLoss(PyLayer):
    @staticmethod
    def forward(ctx, p, t, smooth=1.0):
        if p.shape != t.shape or p.ndim < 2:
            raise ValueError
        n = p.shape[0]
        pf, tf = p.reshape([n, -1]), t.reshape([n, -1])
        num = 2 * (pf * tf).sum(1, keepdim=True) + smooth
        den = (pf * pf).sum(1, keepdim=True) + (tf * tf).sum(1, keepdim=True) + smooth
        ctx.save_for_backward(pf, tf, num, den)
        ctx.shape = p.shape
        return 1 - (num / den).mean()

    @staticmethod
    def backward(ctx, dy):
        p, t, num, den = ctx.saved_tensor()
        c = -dy / p.shape[0]
        gp = c * 2 * (t * den - p * num) / (den * den)
        gt = c * 2 * (p * den - t * num) / (den * den)
        return gp.reshape(ctx.shape), gt.reshape(ctx.shape)


class TripletMargin(PyLayer):
    @staticmethod
    def forward(ctx, anchor, pos, neg, margin=0.3, reduction="mean"):
        if anchor.ndim != 2 or not (anchor.shape == pos.shape == neg.shape):
            raise ValueError("three [N, D] tensors please")
        if reduction not in ("mean", "sum", "none"):
            raise ValueError(reduction)
        ap, an = anchor - pos, anchor - neg
        v = (ap * ap).sum(-1) - (an * an).sum(-1) + margin
        ctx.active = v > 0
        ctx.save_for_backward(ap, an)
        ctx.reduction = reduction
        v = F.relu(v)
        if reduction == "mean":
            return v.mean()
        return v.sum() if reduction == "sum" else v

    @staticmethod
    def backward(ctx, dy):
        ap, an = ctx.saved_tensor()
        g = ctx.active.astype(ap.dtype) * dy
        if ctx.reduction == "mean":
            g = g / ap.shape[0]
        g = 2 * g.unsqueeze(-1)
        return g * (ap - an), -g * ap, g * an


class LogCosh(PyLayer):
    """numpy log-cosh regression loss"""

    @staticmethod
    def forward(ctx, yhat, y, reduction="mean"):
        a, b = yhat.numpy(), y.numpy()
        if a.shape != b.shape:
            raise ValueError("%s vs %s" % (a.shape, b.shape))
        r = a - b
        v = np.abs(r) + np.log1p(np.exp(-2 * np.abs(r))) - math.log(2.0)
        ctx.r = r
        ctx.scale = 1.0 / r.size if reduction == "mean" else 1.0
        if reduction != "none":
            v = np.asarray(v.sum() * ctx.scale, dtype=r.dtype)
        return paddle.to_tensor(v)

    @staticmethod
    def backward(ctx, dy):
        g = dy.numpy() * np.tanh(ctx.r) * ctx.scale
        g = g.astype(ctx.r.dtype)
        return paddle.to_tensor(g), paddle.to_tensor(-g)
