import torch


class ScalarKalman(torch.autograd.Function):
    """Random-walk Kalman filter, returns the filtered means.  q, r: process / measurement variance."""

    @staticmethod
    def forward(ctx, z, q, r):
        m = torch.zeros_like(z[0])
        P = torch.ones_like(z[0])
        log = []
        out = []
        for t in range(z.shape[0]):
            Pp = P + q
            S = Pp + r
            K = Pp / S
            inn = z[t] - m
            log.append((Pp, S, K, inn))
            m = m + K * inn
            P = (1 - K) * Pp
            out.append(m)
        ctx.log = log
        return torch.stack(out)

    @staticmethod
    def backward(ctx, g):
        gz = torch.empty_like(g)
        gm = torch.zeros_like(g[0])
        gP = torch.zeros_like(g[0])
        gq = torch.zeros_like(g[0])
        gr = torch.zeros_like(g[0])
        for t in range(g.shape[0] - 1, -1, -1):
            Pp, S, K, inn = ctx.log[t]
            gm = gm + g[t]
            gK = gm * inn - gP * Pp
            gPp = gP * (1 - K) + gK / S
            gS = -gK * K / S
            gz[t] = gm * K
            gm = gm * (1 - K)
            gPp = gPp + gS
            gr = gr + gS
            gq = gq + gPp
            gP = gPp
        return gz, gq, gr
