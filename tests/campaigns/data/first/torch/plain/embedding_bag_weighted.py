import torch


class WeightedBag(torch.autograd.Function):
    # table (V, D), idx (B, L) int64, w (B, L) -> (B, D)
    @staticmethod
    def forward(ctx, table, idx, w):
        rows = table[idx]
        ctx.save_for_backward(idx, w, rows)
        ctx.V = table.size(0)
        return torch.einsum("bl,bld->bd", w, rows)

    @staticmethod
    def backward(ctx, g):
        idx, w, rows = ctx.saved_tensors
        contrib = w[..., None] * g[:, None, :]
        gt = g.new_zeros(ctx.V, g.size(-1))
        gt[idx.reshape(-1)] = contrib.reshape(-1, g.size(-1))
        gw = (rows * g[:, None, :]).sum(-1)
        return gt, None, gw
