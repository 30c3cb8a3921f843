import torch
import torch.nn.functional as F


def phi(x):
    return F.elu(x) + 1


def dphi(x):
    return torch.where(x > 0, torch.ones_like(x), x.exp())


class LinAttn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        Q, K = phi(q), phi(k)
        kv = K.t() @ v
        z = Q @ K.sum(0)
        o = (Q @ kv) / z[:, None]
        ctx.save_for_backward(q, k, v, z, o)
        return o

    @staticmethod
    def backward(ctx, go):
        q, k, v, z, o = ctx.saved_tensors
        Q, K = phi(q), phi(k)
        gn = go / z[:, None]                  # grad of numerator
        gz = -(gn * o).sum(1)                 # grad of denominator
        gQ = gn @ (K.t() @ v).t() + gz[:, None] * K.mean(0)
        gK = v @ gn.t() @ Q + (gz[:, None] * Q).sum(0)
        gv = K @ (Q.t() @ gn)
        return gQ * dphi(q), gK * dphi(k), gv
