import torch


class BondAngle(torch.autograd.Function):
    @staticmethod
    def forward(ctx, xyz, triples):
        i, j, k = triples.t()
        a, b = xyz[i] - xyz[j], xyz[k] - xyz[j]
        na, nb = a.norm(dim=1, keepdim=True), b.norm(dim=1, keepdim=True)
        ua, ub = a / na, b / nb
        cos = (ua * ub).sum(1, keepdim=True)
        ctx.save_for_backward(triples, ua, ub, na, nb, cos)
        ctx.n = xyz.shape[0]
        return torch.acos(cos.squeeze(1))

    @staticmethod
    def backward(ctx, g):
        triples, ua, ub, na, nb, cos = ctx.saved_tensors
        i, j, k = triples.t()
        f = -g[:, None] / torch.sqrt(1 - cos ** 2)
        ga = f * (ub - cos * ua) / na
        gb = f * (ua - cos * ub) / nb
        out = torch.zeros(ctx.n, 3, dtype=ua.dtype)
        for idx, v in ((i, ga), (k, gb), (j, -ga - gb)):
            out.index_add_(0, idx, v)
        return out, None
