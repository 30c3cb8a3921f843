import torch


class QuatRotate(torch.autograd.Function):
    """Rotate v by the (not normalised) quaternion q = (w, x, y, z):  v + 2 w (u x v) + 2 u x (u x v)"""

    @staticmethod
    def forward(ctx, q, v):
        w, u = q[..., :1], q[..., 1:]
        t = 2 * torch.linalg.cross(u, v)
        ctx.save_for_backward(w, u, v, t)
        return v + w * t + torch.linalg.cross(u, t)

    @staticmethod
    def backward(ctx, g):
        w, u, v, t = ctx.saved_tensors
        cross = torch.linalg.cross
        gw = (g * t).sum(-1, keepdim=True)
        gt = w * g + cross(g, u)
        gu = cross(t, g) + 2 * cross(v, gt)
        gv = g + 2 * cross(gt, u)
        return torch.cat([gw, gu], -1), gv
