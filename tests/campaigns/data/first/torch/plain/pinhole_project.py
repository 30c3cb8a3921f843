import torch


class Pinhole(torch.autograd.Function):
    # points: (N,3) camera frame; f: (2,) focal; c: (2,) principal point
    @staticmethod
    def forward(ctx, points, f, c):
        xy = points[:, :2] / points[:, 2:]
        ctx.save_for_backward(points, f, xy)
        return f * xy + c

    @staticmethod
    def backward(ctx, g):
        points, f, xy = ctx.saved_tensors
        z = points[:, 2:]
        gf = (g * xy).sum(0)
        gxy = g * f / z
        gz = -(gxy * points[:, :2]).sum(1, keepdim=True)
        return torch.cat([gxy, gz], 1), gf, g.sum(0)
