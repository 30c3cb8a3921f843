import torch


class LSTMCellFn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gates, c):
        i, f, g, o = gates.chunk(4, dim=1)
        i, f, o = i.sigmoid(), f.sigmoid(), o.sigmoid()
        g = g.tanh()
        cn = f * c + i * g
        tc = cn.tanh()
        ctx.save_for_backward(i, f, g, o, c, tc)
        return o * tc, cn

    @staticmethod
    def backward(ctx, gh, gc):
        i, f, g, o, c, tc = ctx.saved_tensors
        dc = gc + gh * o * (1 - tc)
        do = gh * tc * o * (1 - o)
        di = dc * g * i * (1 - i)
        df = dc * c * f * (1 - f)
        dg = dc * i * (1 - g ** 2)
        return torch.cat((di, df, dg, do), 1), dc * f
