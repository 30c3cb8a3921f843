import torch


class QuatRotate(torch.autograd.Function):
    """v' = q v q* for quaternions (w, x, y, z) of any length."""

    @staticmethod
    def forward(ctx, q, v):
        ctx.save_for_backward(q, v)
        w, u = q[..., :1], q[..., 1:]
        uv = torch.linalg.cross(u, v)
        return (w * w - (u * u).sum(-1, keepdim=True)) * v + 2 * (u * v).sum(-1, keepdim=True) * u + 2 * w * uv

    @staticmethod
    def backward(ctx, g):
        q, v = ctx.saved_tensors
        w, u = q[..., :1], q[..., 1:]

        def dot(a, b):
            return (a * b).sum(-1, keepdim=True)

        dw = 2 * w * dot(g, v) + 2 * dot(g, torch.linalg.cross(u, v))
        du = -2 * u * dot(g, v) + 2 * v * dot(g, u) + 2 * dot(u, v) * g + 2 * w * torch.linalg.cross(v, g)
        dv = (w * w - dot(u, u)) * g + 2 * u * dot(g, u) + 2 * w * torch.linalg.cross(g, u)
        return torch.cat((dw, du), -1), dv


class Pinhole(torch.autograd.Function):
    """(x, y, z) -> (fx x / z + cx, fy y / z + cy), k = (fx, fy, cx, cy)."""

    @staticmethod
    def forward(ctx, p, k):
        x, y, z = p.unbind(-1)
        ctx.save_for_backward(p, k)
        return torch.stack((k[0] * x / z + k[2], k[1] * y / z + k[3]), -1)

    @staticmethod
    def backward(ctx, g):
        p, k = ctx.saved_tensors
        x, y, z = p.unbind(-1)
        gu, gv = g.unbind(-1)
        dx = gu * k[0] / z
        dy = gv * k[1] / z
        dz = -(gu * k[0] * x + gv * k[1] * y) / z**2
        dk = torch.stack([(gu * x / z).sum(), (gv * y / z).sum(), gu.sum(), gv.sum()])
        return torch.stack((dx, dy, dz), -1), dk


class CrossFn(torch.autograd.Function):
    @staticmethod
    def forward(a, b, dim=-1):
        return torch.linalg.cross(a, b, dim=dim)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.dim = inputs[2] if len(inputs) > 2 else -1
        ctx.save_for_backward(inputs[0], inputs[1])

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return torch.linalg.cross(b, g, dim=ctx.dim), torch.linalg.cross(g, a, dim=ctx.dim), None
