import torch


class PPOClip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logp, logp_old, adv, clip=0.2):
        ratio = (logp - logp_old).exp()
        s1 = ratio * adv
        s2 = ratio.clamp(1 - clip, 1 + clip) * adv
        ctx.save_for_backward(ratio, adv)
        ctx.clip = clip
        return -torch.minimum(s1, s2).mean()

    @staticmethod
    def backward(ctx, g):
        ratio, adv = ctx.saved_tensors
        hi, lo = 1 + ctx.clip, 1 - ctx.clip
        cut = (ratio > hi) | (ratio < lo)
        n = ratio.numel()
        glp = -g * torch.where(cut, 0.0, ratio * adv) / n
        r_eff = torch.where(cut, ratio.clamp(lo, hi), ratio)
        return glp, -glp, -g * r_eff / n, None
