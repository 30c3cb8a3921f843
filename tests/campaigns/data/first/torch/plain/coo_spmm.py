import torch


class SpMM(torch.autograd.Function):
    @staticmethod
    def forward(ctx, val, row, col, dense, nrows):
        ctx.save_for_backward(val, row, col, dense)
        out = dense.new_zeros(nrows, dense.shape[1])
        return out.index_add_(0, row, val[:, None] * dense[col])

    @staticmethod
    def backward(ctx, g):
        val, row, col, dense = ctx.saved_tensors
        gval = (g[row] * dense[col]).sum(1)
        gd = torch.zeros_like(dense)
        gd.index_add_(0, row, val[:, None] * g[col])
        return gval, None, None, gd, None
