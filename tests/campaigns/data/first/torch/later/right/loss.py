import torch


class SmoothedCE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, labels, smoothing=0.1, ignore_index=-100, reduction="mean"):
        logp = torch.log_softmax(logits, -1)
        keep = labels != ignore_index
        safe = labels.masked_fill(~keep, 0)
        nll = -logp.gather(-1, safe.unsqueeze(-1)).squeeze(-1)
        loss = (1 - smoothing) * nll - smoothing * logp.mean(-1)
        loss = loss * keep
        ctx.save_for_backward(logp, safe, keep)
        ctx.smoothing, ctx.reduction = smoothing, reduction
        if reduction == "mean":
            return loss.sum() / keep.sum().clamp(min=1)
        if reduction == "sum":
            return loss.sum()
        return loss

    @staticmethod
    def backward(ctx, g):
        logp, safe, keep = ctx.saved_tensors
        c = logp.shape[-1]
        d = logp.exp() - ctx.smoothing / c
        d.scatter_add_(-1, safe.unsqueeze(-1), torch.full_like(safe.unsqueeze(-1), -(1 - ctx.smoothing), dtype=d.dtype))
        d = d * keep.unsqueeze(-1)
        if ctx.reduction == "mean":
            d = d * (g / keep.sum().clamp(min=1))
        elif ctx.reduction == "sum":
            d = d * g
        else:
            d = d * g.unsqueeze(-1)
        return d, None, None, None, None


class ZLossCE(torch.autograd.Function):
    """Cross entropy plus z * logsumexp^2, the mean of both."""

    @staticmethod
    def forward(ctx, logits, target, z=1e-3):
        lse = logits.logsumexp(-1)
        picked = logits.gather(1, target[:, None])[:, 0]
        ctx.save_for_backward(logits, target, lse)
        ctx.z = z
        return (lse - picked + z * lse**2).mean()

    @staticmethod
    def backward(ctx, g):
        logits, target, lse = ctx.saved_tensors
        p = torch.exp(logits - lse[:, None])
        d = p * (1 + 2 * ctx.z * lse)[:, None]
        d[torch.arange(len(target)), target] -= 1
        return g * d / len(target), None, None


class BinaryFocal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, t, alpha=0.25, gamma=2.0):
        p = torch.sigmoid(x)
        pt = torch.where(t > 0.5, p, 1 - p)
        at = torch.where(t > 0.5, torch.full_like(x, alpha), torch.full_like(x, 1 - alpha))
        ctx.save_for_backward(pt, at, t)
        ctx.gamma = gamma
        return -(at * (1 - pt) ** gamma * torch.log(pt))

    @staticmethod
    def backward(ctx, g):
        pt, at, t = ctx.saved_tensors
        gm = ctx.gamma
        # d pt / d x = +- pt (1 - pt)
        d = at * (1 - pt) ** gm * (gm * pt * torch.log(pt) - (1 - pt))
        sign = torch.where(t > 0.5, 1.0, -1.0)
        return g * d * sign, None, None, None


class MaskedHuber(torch.autograd.Function):
    @staticmethod
    def forward(pred, target, mask, delta=1.0):
        e = pred - target
        a = e.abs()
        each = torch.where(a <= delta, 0.5 * e * e, delta * (a - 0.5 * delta))
        return (each * mask).sum() / mask.sum()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pred, target, mask, *rest = inputs
        ctx.delta = rest[0] if rest else 1.0
        ctx.save_for_backward(pred, target, mask)

    @staticmethod
    def backward(ctx, g):
        pred, target, mask = ctx.saved_tensors
        e = (pred - target).clamp(-ctx.delta, ctx.delta)
        d = g * e * mask / mask.sum()
        return d, -d, None, None


class DistillKL(torch.autograd.Function):
    """T^2 KL(teacher || student), batchmean, for both sets of logits."""

    @staticmethod
    def forward(ctx, student, teacher, T=2.0):
        ls = torch.log_softmax(student / T, -1)
        lt = torch.log_softmax(teacher / T, -1)
        pt = lt.exp()
        rows = (pt * (lt - ls)).sum(-1)
        ctx.save_for_backward(ls, lt, rows)
        ctx.T = T
        return T * T * rows.mean()

    @staticmethod
    def backward(ctx, g):
        ls, lt, rows = ctx.saved_tensors
        T = ctx.T
        pt = lt.exp()
        c = g * T / rows.numel()
        ds = c * (ls.exp() - pt)
        dt = c * pt * (lt - ls - rows.unsqueeze(-1))
        return ds, dt, None


class SigLip(torch.autograd.Function):
    """Sigmoid loss of all pairs: -mean_i sum_j logsigmoid(y_ij (exp(lt) a_i.b_j + bias))."""

    @staticmethod
    def forward(ctx, a, b, logt, bias):
        sim = a @ b.t()
        z = logt.exp() * sim + bias
        y = 2 * torch.eye(a.shape[0], b.shape[0], dtype=a.dtype) - 1
        ctx.save_for_backward(a, b, logt, sim, z, y)
        return -torch.nn.functional.logsigmoid(y * z).sum() / a.shape[0]

    @staticmethod
    def backward(ctx, g):
        a, b, logt, sim, z, y = ctx.saved_tensors
        dz = -g * y * torch.sigmoid(-y * z) / a.shape[0]
        t = logt.exp()
        ds = dz * t
        return ds @ b, ds.t() @ a, (dz * sim).sum() * t, dz.sum()
