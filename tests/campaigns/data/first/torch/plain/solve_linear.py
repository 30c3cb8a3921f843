import torch


class Solve(torch.autograd.Function):
    @staticmethod
    def forward(ctx, A, b):
        x = torch.linalg.solve(A, b)
        ctx.save_for_backward(A, x)
        return x

    @staticmethod
    def backward(ctx, gx):
        A, x = ctx.saved_tensors
        lam = torch.linalg.solve(A, gx)
        return -torch.outer(lam, x), lam
