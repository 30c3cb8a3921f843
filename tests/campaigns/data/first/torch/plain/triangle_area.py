import torch


class MeshArea(torch.autograd.Function):
    """verts (V,3) float, faces (F,3) long -> per-face area and total area"""

    @staticmethod
    def forward(ctx, verts, faces):
        a, b, c = verts[faces].unbind(1)
        nrm = torch.cross(b - a, c - a, dim=1)
        ln = nrm.norm(dim=1)
        area = 0.5 * ln
        ctx.save_for_backward(verts, faces, nrm / ln[:, None])
        return area, area.sum()

    @staticmethod
    def backward(ctx, g_each, g_total):
        verts, faces, n = ctx.saved_tensors
        a, b, c = verts[faces].unbind(1)
        w = 0.5 * (g_each + g_total)[:, None]
        out = torch.zeros_like(verts)
        out.index_add_(0, faces[:, 0], w * torch.cross(b - c, n, dim=1))
        out.index_add_(0, faces[:, 1], w * torch.cross(c - a, n, dim=1))
        out.index_add_(0, faces[:, 2], w * torch.cross(a - b, n, dim=1))
        return out, None
