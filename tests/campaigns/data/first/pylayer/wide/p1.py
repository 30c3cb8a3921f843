import numpy as np
import paddle
import paddle.nn.functional as F
from paddle.autograd import PyLayer


class DiceLoss(PyLayer):
    @staticmethod
    def forward(ctx, prob, mask, smooth=1.0):
        assert prob.shape == mask.shape
        p = prob.reshape([prob.shape[0], -1])
        m = mask.reshape([mask.shape[0], -1]).astype(p.dtype)
        inter = (p * m).sum(1)
        tot = p.sum(1) + m.sum(1)
        ctx.save_for_backward(m, inter, tot)
        ctx.s, ctx.shape = smooth, prob.shape
        return (1 - (2 * inter + smooth) / (tot + smooth)).mean()

    @staticmethod
    def backward(ctx, dl):
        m, inter, tot = ctx.saved_tensor()
        s = ctx.s
        den = (tot + s).unsqueeze(1)
        num = (2 * inter + s).unsqueeze(1)
        dp = -(2 * m * den - num) / (den * den) / m.shape[0]
        return (dl * dp).reshape(ctx.shape), None


class RowStandardise(PyLayer):
    """(x - mean) / std over the last axis, unbiased std as torch does"""

    @staticmethod
    def forward(ctx, x, eps=1e-6):
        mu = x.mean(-1, keepdim=True)
        c = x - mu
        n = x.shape[-1]
        sd = paddle.sqrt((c * c).sum(-1, keepdim=True) / (n - 1))
        y = c / (sd + eps)
        ctx.save_for_backward(c, sd)
        ctx.eps, ctx.n = eps, n
        return y

    @staticmethod
    def backward(ctx, g):
        c, sd = ctx.saved_tensor()
        d = sd + ctx.eps
        gc = g / d
        gsd = -(g * c).sum(-1, keepdim=True) / (d * d)
        gc = gc + gsd * c / (sd * (ctx.n - 1))
        return gc - gc.mean(-1, keepdim=True)


class PixelShuffleNp(PyLayer):
    @staticmethod
    def forward(ctx, x, r=2):
        a = x.numpy()
        n, c, h, w = a.shape
        if c % (r * r):
            raise ValueError("channels must be divisible by r*r")
        ctx.r = r
        y = a.reshape(n, c // (r * r), r, r, h, w).transpose(0, 1, 4, 2, 5, 3)
        return paddle.to_tensor(y.reshape(n, c // (r * r), h * r, w * r))

    @staticmethod
    def backward(ctx, dy):
        g = dy.numpy()
        r = ctx.r
        n, c, H, W = g.shape
        g = g.reshape(n, c, H // r, r, W // r, r).transpose(0, 1, 3, 5, 2, 4)
        return paddle.to_tensor(g.reshape(n, c * r * r, H // r, W // r))


class ScatterAddRows(PyLayer):
    # out = base with updates[i] added to row index[i]
    @staticmethod
    def forward(ctx, base, index, updates):
        b = base.numpy().copy()
        i = index.numpy()
        np.add.at(b, i, updates.numpy())
        ctx.i = i
        return paddle.to_tensor(b)

    @staticmethod
    def backward(ctx, g):
        return g.clone(), None, paddle.to_tensor(g.numpy()[ctx.i])


class FocalWithLogits(PyLayer):
    @staticmethod
    def forward(ctx, logit, label, alpha=0.25, gamma=2.0):
        if logit.shape != label.shape:
            raise ValueError("shapes differ")
        p = F.sigmoid(logit)
        t = label.astype(logit.dtype)
        pt = p * t + (1 - p) * (1 - t)
        at = alpha * t + (1 - alpha) * (1 - t)
        logpt = F.log_sigmoid(logit) * t + F.log_sigmoid(-logit) * (1 - t)
        ctx.save_for_backward(p, t, pt, at, logpt)
        ctx.gamma = gamma
        return -(at * (1 - pt) ** gamma * logpt).sum()

    @staticmethod
    def backward(ctx, dy):
        p, t, pt, at, logpt = ctx.saved_tensor()
        gm = ctx.gamma
        sgn = 2 * t - 1
        # d pt / d logit = sgn * pt * (1 - pt)
        d = at * (1 - pt) ** gm * (gm * pt * logpt + pt - 1) * sgn
        return dy * d, None


class TVLoss(PyLayer):
    """anisotropic smoothed total variation of (N, C, H, W)"""

    @staticmethod
    def forward(ctx, img, eps=1e-3):
        dh = img[:, :, 1:, :] - img[:, :, :-1, :]
        dw = img[:, :, :, 1:] - img[:, :, :, :-1]
        ctx.save_for_backward(img, dh, dw)
        ctx.eps = eps
        return paddle.sqrt(dh * dh + eps).sum() + paddle.sqrt(dw * dw + eps).sum()

    @staticmethod
    def backward(ctx, g):
        img, dh, dw = ctx.saved_tensor()
        sh = (dh / paddle.sqrt(dh * dh + ctx.eps)).numpy()
        sw = (dw / paddle.sqrt(dw * dw + ctx.eps)).numpy()
        out = np.zeros(img.shape, dtype=sh.dtype)
        out[:, :, 1:, :] += sh
        out[:, :, :-1, :] -= sh
        out[:, :, :, 1:] += sw
        out[:, :, :, :-1] += sw
        return paddle.to_tensor(out) * g


class CosineRows(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        na = paddle.sqrt((a * a).sum(-1))
        nb = paddle.sqrt((b * b).sum(-1))
        s = (a * b).sum(-1) / (na * nb)
        ctx.save_for_backward(a, b, na, nb, s)
        return s

    @staticmethod
    def backward(ctx, g):
        a, b, na, nb, s = ctx.saved_tensor()
        g, na, nb, s = [v.unsqueeze(-1) for v in (g, na, nb, s)]
        ga = g * (b / (na * nb) - s * a / (na * na))
        gb = g * (a / (na * nb) - s * b / (na * nb))
        return ga, gb


class ClippedLogRatio(PyLayer):
    """PPO objective: mean(min(r A, clip(r) A)), r = exp(logp - old)"""

    @staticmethod
    def forward(ctx, logp, old, adv, clip=0.2):
        assert logp.shape == old.shape == adv.shape
        r = paddle.exp(logp - old)
        a = r * adv
        b = paddle.clip(r, 1 - clip, 1 + clip) * adv
        ctx.save_for_backward(r, adv)
        ctx.clip = clip
        return paddle.minimum(a, b).mean()

    @staticmethod
    def backward(ctx, g):
        r, adv = ctx.saved_tensor()
        inside = paddle.logical_and(r > 1 - ctx.clip, r < 1 + ctx.clip).astype(r.dtype)
        d = g * adv * r * inside / r.size
        return d, None, None
