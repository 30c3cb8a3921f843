import torch


class ModRelu(torch.autograd.Function):
    """modReLU for complex networks: relu(|z| + b) * z / |z|;  bias: [features], real."""

    @staticmethod
    def forward(ctx, z, bias):
        if not z.is_complex():
            raise TypeError("z must be complex")
        if z.dim() < 1 or bias.shape != z.shape[-1:]:
            raise ValueError("bias must match the last axis of z")
        r = z.abs()
        s = (r + bias).clamp(min=0)
        ctx.save_for_backward(z, r, s)
        return s * z / r

    @staticmethod
    def backward(ctx, g):
        z, r, s = ctx.saved_tensors
        u = z / r
        on = (s > 0).to(r.dtype)
        radial = (g.conj() * u).real
        gz = s / r * g + (on - s / r) * radial * u
        gb = (on * radial).reshape(-1, r.shape[-1]).sum(0)
        return gz, gb
