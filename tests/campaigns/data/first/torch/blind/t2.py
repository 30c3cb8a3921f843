import torch
from torch.autograd import Function


class FocalBCE(Function):
    @staticmethod
    def forward(ctx, logits, target, gamma=2.0):
        if logits.shape != target.shape:
            raise ValueError("shapes differ")
        ctx.save_for_backward(logits, target)
        ctx.gamma = gamma
        p, q = torch.sigmoid(logits), torch.sigmoid(-logits)
        lp, lq = torch.nn.functional.logsigmoid(logits), torch.nn.functional.logsigmoid(-logits)
        return -(target * q ** gamma * lp + (1 - target) * p ** gamma * lq)

    @staticmethod
    def backward(ctx, g):
        logits, target = ctx.saved_tensors
        gm = ctx.gamma
        p, q = torch.sigmoid(logits), torch.sigmoid(-logits)
        lp, lq = torch.nn.functional.logsigmoid(logits), torch.nn.functional.logsigmoid(-logits)
        pos = q ** gm * (gm * p * lp - q)
        neg = p ** gm * (p - gm * q * lq)
        dl = g * (target * pos + (1 - target) * neg)
        dt = -g * (q ** gm * lp - p ** gm * lq)
        return dl, dt, None


class SmoothedCE(Function):
    @staticmethod
    def forward(ctx, logits, labels, eps=0.1):
        if logits.dim() != 2 or labels.dim() != 1 or labels.shape[0] != logits.shape[0]:
            raise ValueError("expected logits (N, C) and labels (N,)")
        n, c = logits.shape
        logp = torch.log_softmax(logits, dim=1)
        onehot = torch.nn.functional.one_hot(labels.long(), c).to(logits.dtype)
        ctx.save_for_backward(logp, onehot)
        ctx.eps = eps
        q = (1 - eps) * onehot + eps / c
        return -(q * logp).sum() / n

    @staticmethod
    def backward(ctx, g):
        logp, onehot = ctx.saved_tensors
        d = torch.exp(logp) - (1 - ctx.eps) * onehot
        return g * d / logp.shape[0], None, None


class TripletSquared(Function):
    @staticmethod
    def forward(ctx, a, p, n, margin=0.5):
        if a.dim() != 2 or a.shape != p.shape or a.shape != n.shape:
            raise ValueError("expected three matrices of one shape")
        v = ((a - p) ** 2).sum(1) - ((a - n) ** 2).sum(1) + margin
        active = (v > 0).to(a.dtype)
        ctx.save_for_backward(a, p, n, active)
        return (v * active).sum()

    @staticmethod
    def backward(ctx, g):
        a, p, n, active = ctx.saved_tensors
        w = 2 * g * active.unsqueeze(1)
        return w * (n - p), w * (p - a), w * (a - n), None


class ContrastivePair(Function):
    @staticmethod
    def forward(ctx, x1, x2, same, margin=1.0):
        if x1.dim() != 2 or x1.shape != x2.shape or same.shape != x1.shape[:1]:
            raise ValueError("expected (N, D), (N, D), (N,)")
        d = torch.sqrt(((x1 - x2) ** 2).sum(1) + 1e-12)
        same = same.bool()
        loss = torch.where(same, d ** 2, torch.relu(margin - d) ** 2)
        ctx.save_for_backward(x1, x2, same, d)
        ctx.margin = margin
        return loss.mean()

    @staticmethod
    def backward(ctx, g):
        x1, x2, same, d = ctx.saved_tensors
        coef = torch.where(same, 2 * torch.ones_like(d), -2 * (ctx.margin - d) / d)
        dx = g * coef.unsqueeze(1) * (x1 - x2) / d.shape[0]
        return dx, -dx, None, None


class PinballLoss(Function):
    @staticmethod
    def forward(ctx, pred, target, q=0.5):
        if pred.shape != target.shape:
            raise ValueError("shapes differ")
        if not 0 < q < 1:
            raise ValueError("q lies between 0 and 1")
        e = target - pred
        ctx.save_for_backward(e)
        ctx.q = q
        return torch.maximum(q * e, (q - 1) * e).mean()

    @staticmethod
    def backward(ctx, g):
        (e,) = ctx.saved_tensors
        q = ctx.q
        de = torch.where(e >= 0, torch.full_like(e, 1 - q), torch.full_like(e, -q))
        de = g * de / max(e.numel(), 1)
        return -de, de, None


class SoftDice(Function):
    @staticmethod
    def forward(ctx, p, t, smooth=1.0):
        if p.dim() < 2 or p.shape != t.shape:
            raise ValueError("expected two arrays (N, ...) of one shape")
        pf, tf = p.reshape(p.shape[0], -1), t.reshape(t.shape[0], -1)
        num = 2 * (pf * tf).sum(1) + smooth
        den = (pf * pf).sum(1) + (tf * tf).sum(1) + smooth
        ctx.save_for_backward(p, t, num, den)
        return 1 - num / den

    @staticmethod
    def backward(ctx, g):
        p, t, num, den = ctx.saved_tensors
        sh = [-1] + [1] * (p.dim() - 1)
        g, num, den = g.reshape(sh), num.reshape(sh), den.reshape(sh)
        dp = -g * (2 * t / den - num * 2 * p / den ** 2)
        dt = -g * (2 * p / den - num * 2 * t / den ** 2)
        return dp, dt, None


class WingLoss(Function):
    @staticmethod
    def forward(ctx, pred, target, w=10.0, eps=2.0):
        if pred.shape != target.shape:
            raise ValueError("shapes differ")
        d = pred - target
        c = w - w * torch.log1p(torch.tensor(w / eps, dtype=d.dtype))
        ctx.save_for_backward(d)
        ctx.w, ctx.eps = w, eps
        a = d.abs()
        return torch.where(a < w, w * torch.log1p(a / eps), a - c).sum()

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        a = d.abs()
        slope = torch.where(a < ctx.w, ctx.w / (1 + a / ctx.eps), torch.ones_like(a))
        dp = g * slope * torch.sign(d)
        return dp, -dp, None, None


class CauchyLoss(Function):
    @staticmethod
    def forward(ctx, pred, target, c=1.0, reduction="none"):
        if pred.shape != target.shape:
            raise ValueError("shapes differ")
        if c <= 0:
            raise ValueError("c must be positive")
        d = (pred - target) / c
        ctx.save_for_backward(d)
        ctx.c, ctx.reduction = c, reduction
        loss = 0.5 * c * c * torch.log1p(d * d)
        if reduction == "none":
            return loss
        if reduction == "sum":
            return loss.sum()
        if reduction == "mean":
            return loss.mean()
        raise ValueError("reduction must be 'none', 'sum' or 'mean', got %r" % (reduction,))

    @staticmethod
    def backward(ctx, g):
        (d,) = ctx.saved_tensors
        if ctx.reduction == "mean":
            g = g / d.numel()
        dp = g * ctx.c * d / (1 + d * d)
        return dp, -dp, None, None


class WeightedPseudoHuber(Function):
    @staticmethod
    def forward(ctx, pred, target, weight):
        if not pred.shape == target.shape == weight.shape:
            raise ValueError("shapes differ")
        d = pred - target
        r = torch.sqrt(1 + d * d)
        ctx.save_for_backward(d, r, weight)
        return (weight * (r - 1)).sum()

    @staticmethod
    def backward(ctx, g):
        d, r, weight = ctx.saved_tensors
        dp = g * weight * d / r
        return dp, -dp, g * r


class MaskedNLL(Function):
    @staticmethod
    def forward(ctx, logp, labels, ignore_index=-100):
        if logp.dim() != 2 or labels.dim() != 1 or labels.shape[0] != logp.shape[0]:
            raise ValueError("expected logp (N, C) and labels (N,)")
        labels = labels.long()
        keep = labels != ignore_index
        safe = torch.where(keep, labels, torch.zeros_like(labels))
        count = keep.sum().clamp(min=1).to(logp.dtype)
        picked = logp.gather(1, safe.unsqueeze(1)).squeeze(1)
        ctx.save_for_backward(safe, keep, count)
        ctx.shape = logp.shape
        return -torch.where(keep, picked, torch.zeros_like(picked)).sum() / count

    @staticmethod
    def backward(ctx, g):
        safe, keep, count = ctx.saved_tensors
        d = torch.zeros(ctx.shape, dtype=g.dtype)
        d.scatter_(1, safe.unsqueeze(1), (-g * keep.to(g.dtype) / count).unsqueeze(1))
        return d, None, None
