import torch


class SegmentSoftmax(torch.autograd.Function):
    """Softmax of edge scores within each destination node (GAT).

    score: [E] or [E, heads];  index: [E] long, values in [0, num_nodes).
    """

    @staticmethod
    def _gather_sum(v, index, n):
        return v.new_zeros((n,) + v.shape[1:]).index_add(0, index, v)[index]

    @staticmethod
    def forward(ctx, score, index, num_nodes=None):
        if index.dim() != 1 or index.shape[0] != score.shape[0]:
            raise ValueError("one index per edge")
        n = int(index.max()) + 1 if num_nodes is None else num_nodes
        idx = index.reshape((-1,) + (1,) * (score.dim() - 1)).expand_as(score)
        m = score.new_full((n,) + score.shape[1:], float("-inf"))
        m = m.scatter_reduce(0, idx, score, reduce="amax")
        e = (score - m[index]).exp()
        p = e / SegmentSoftmax._gather_sum(e, index, n)
        ctx.save_for_backward(p, index)
        ctx.n = n
        return p

    @staticmethod
    def backward(ctx, gp):
        p, index = ctx.saved_tensors
        t = gp * p
        return t - p * SegmentSoftmax._gather_sum(t, index, ctx.n), None, None
