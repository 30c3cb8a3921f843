import torch
import torch.nn.functional as F


class Swiglu(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        if gate.shape != up.shape:
            raise ValueError("gate and up must have one shape")
        gate = F.silu(gate)
        ctx.save_for_backward(gate, up)
        return gate * up

    @staticmethod
    def backward(ctx, dy):
        gate, up = ctx.saved_tensors
        sig = torch.sigmoid(gate)
        dgate = dy * up * sig * (1 + gate * (1 - sig))
        dup = dy * gate
        return dgate, dup
