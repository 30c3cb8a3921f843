import torch


def _dot(a, b):
    return (a * b).sum(-1, keepdim=True)


class QuaternionRotate(torch.autograd.Function):
    """v + 2 w (u x v) + 2 u x (u x v), q = (w, u).

    q: [..., 4] (a rotation when |q| = 1, not enforced), v: [..., 3].
    """

    @staticmethod
    def forward(ctx, q, v):
        if q.shape[-1] != 4 or v.shape[-1] != 3 or q.shape[:-1] != v.shape[:-1]:
            raise ValueError("q [..., 4] and v [..., 3]")
        ctx.save_for_backward(q, v)
        w, u = q[..., :1], q[..., 1:]
        t = torch.linalg.cross(u, v)
        return v + 2 * w * t + 2 * torch.linalg.cross(u, t)

    @staticmethod
    def backward(ctx, g):
        q, v = ctx.saved_tensors
        w, u = q[..., :1], q[..., 1:]
        cross = torch.linalg.cross
        ug = cross(u, g)
        gv = g - 2 * w * ug + 2 * cross(u, ug)
        gw = 2 * _dot(g, cross(u, v))
        gu = 2 * w * cross(v, g) + 2 * (g * _dot(u, v) + v * _dot(g, u) - 2 * u * _dot(g, v))
        return torch.cat([gw, gu], -1), gv
