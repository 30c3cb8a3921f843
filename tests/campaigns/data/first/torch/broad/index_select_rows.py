import torch


class IndexSelectRows(torch.autograd.Function):
    """table[index]: neighbour feature fetch."""

    @staticmethod
    def forward(ctx, table, index):
        ctx.save_for_backward(index)
        ctx.shape = table.shape
        return table[index]

    @staticmethod
    def backward(ctx, g):
        index, = ctx.saved_tensors
        out = g.new_zeros(ctx.shape)
        out[index] = g
        return out, None
