import torch


def seg_sum(x, idx, n):
    return x.new_zeros((n,) + x.shape[1:]).index_add(0, idx, x)


class EdgeSoftmax(torch.autograd.Function):
    """Normalise edge logits over all edges that share a destination node."""

    @staticmethod
    def forward(ctx, logit, dst, num_nodes):
        z = torch.exp(logit - logit.max())
        p = z / seg_sum(z, dst, num_nodes)[dst]
        ctx.save_for_backward(p, dst)
        ctx.n = num_nodes
        return p

    @staticmethod
    def backward(ctx, gp):
        p, dst = ctx.saved_tensors
        w = gp * p
        return w - p * seg_sum(w, dst, ctx.n)[dst], None, None
