import torch


class MoECombine(torch.autograd.Function):
    """
    expert_out (E, T, D), probs (T, E), topk (T, K) int64.
    Mixes the selected experts with probabilities renormalised over the selection.
    """

    @staticmethod
    def forward(ctx, expert_out, probs, topk):
        tok = torch.arange(probs.shape[0])[:, None]
        sel = probs.gather(1, topk)
        w = sel / sel.sum(1, keepdim=True)
        y = expert_out[topk, tok]
        ctx.save_for_backward(sel, w, y, topk)
        ctx.E = expert_out.shape[0]
        return (w[..., None] * y).sum(1)

    @staticmethod
    def backward(ctx, g):
        sel, w, y, topk = ctx.saved_tensors
        T, K = topk.shape
        tok = torch.arange(T)[:, None].expand(T, K)
        ge = g.new_zeros(ctx.E, T, g.shape[1])
        ge.index_put_((topk, tok), w[..., None] * g[:, None], accumulate=True)
        gw = (y * g[:, None]).sum(-1)
        gsel = (gw - (gw * w).sum(1, keepdim=True)) / sel.sum(1, keepdim=True)
        gp = g.new_zeros(T, ctx.E).scatter_add_(1, topk, gsel)
        return ge, gp, None
