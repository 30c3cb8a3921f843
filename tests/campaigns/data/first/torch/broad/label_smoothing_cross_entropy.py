import torch
import torch.nn.functional as F


class LabelSmoothingCrossEntropy(torch.autograd.Function):
    """Cross entropy with label smoothing and an ignored label.

    logits [..., C], target [...] (long).  Averaged over the targets that count.
    """

    @staticmethod
    def forward(ctx, logits, target, smoothing=0.1, ignore_index=-100):
        if logits.shape[:-1] != target.shape:
            raise ValueError("target must be logits.shape[:-1]")
        c = logits.shape[-1]
        valid = target != ignore_index
        safe = torch.where(valid, target, torch.zeros_like(target))
        logp = F.log_softmax(logits, dim=-1)
        q = torch.full_like(logp, smoothing / c)
        q.scatter_add_(-1, safe.unsqueeze(-1), torch.full_like(logp[..., :1], 1.0 - smoothing))
        q = q * valid.unsqueeze(-1)
        n = valid.sum().clamp(min=1)
        ctx.save_for_backward(logp, q, valid, n)
        return -(q * logp).sum() / n

    @staticmethod
    def backward(ctx, grad_out):
        logp, q, valid, n = ctx.saved_tensors
        # q sums to one on every valid row
        g = logp.exp() * valid.unsqueeze(-1) - q
        return grad_out * g / n, None, None, None
