import torch


class CRFLogZ(torch.autograd.Function):
    """emissions (T, K), transitions (K, K) [from, to] -> log partition"""

    @staticmethod
    def forward(ctx, emit, trans):
        alpha = [emit[0]]
        for t in range(1, emit.shape[0]):
            alpha.append(torch.logsumexp(alpha[-1][:, None] + trans, 0) + emit[t])
        alpha = torch.stack(alpha)
        logZ = torch.logsumexp(alpha[-1], 0)
        ctx.save_for_backward(emit, trans, alpha, logZ)
        return logZ

    @staticmethod
    def backward(ctx, g):
        emit, trans, alpha, logZ = ctx.saved_tensors
        T, K = emit.shape
        beta = torch.zeros_like(emit)
        for t in range(T - 2, -1, -1):
            beta[t] = torch.logsumexp(trans + (emit[t + 1] + beta[t + 1])[None], 1)
        ge = torch.exp(alpha + beta - logZ)
        gt = torch.zeros_like(trans)
        for t in range(1, T):
            gt += torch.exp(alpha[t][:, None] + trans + (emit[t] + beta[t])[None] - logZ)
        return g * ge, g * gt
