import torch, torch.nn.functional as F

class Mish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.mul(F.softplus(x).tanh())
    @staticmethod
    def backward(ctx, grad_output):
        x = ctx.saved_tensors[0]
        t = F.softplus(x).tanh()
        return grad_output.mul(t + x * x.sigmoid() * (1 - t * t))
