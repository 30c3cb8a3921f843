import torch


class LabelSmoothedCE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target, smoothing=0.1):
        B, V = logits.shape
        logp = logits - torch.logsumexp(logits, 1, keepdim=True)
        nll = -logp[torch.arange(B), target]
        uni = -logp.mean(1)
        ctx.save_for_backward(logp, target)
        ctx.s = smoothing
        return ((1 - smoothing) * nll + smoothing * uni).mean()

    @staticmethod
    def backward(ctx, g):
        logp, target = ctx.saved_tensors
        B, V = logp.shape
        q = torch.full_like(logp, ctx.s / V)
        q[torch.arange(B), target] += 1 - ctx.s
        return g * (logp.exp() - q) / B, None, None
