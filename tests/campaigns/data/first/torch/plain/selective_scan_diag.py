import torch


class SelectiveScan(torch.autograd.Function):
    """
    u, dt: (T, D);  A: (D, N) (log-magnitude, decay = exp(-dt * exp(A)));  B, C: (T, N)
    h_t = exp(-dt_t e^A) * h_{t-1} + dt_t u_t B_t ;  y_t = h_t C_t
    """

    @staticmethod
    def forward(ctx, u, dt, A, B, C):
        T, D = u.shape
        Ae = A.exp()
        h = torch.zeros_like(A)
        hist, ys = [h], []
        for t in range(T):
            decay = torch.exp(-dt[t][:, None] * Ae)
            h = decay * h + (dt[t] * u[t])[:, None] * B[t][None]
            hist.append(h)
            ys.append(h @ C[t])
        ctx.save_for_backward(u, dt, Ae, B, C, torch.stack(hist))
        return torch.stack(ys)

    @staticmethod
    def backward(ctx, gy):
        u, dt, Ae, B, C, hist = ctx.saved_tensors
        gu, gdt, gB, gC = (torch.zeros_like(z) for z in (u, dt, B, C))
        gA = torch.zeros_like(Ae)
        gh = torch.zeros_like(Ae)
        for t in range(u.shape[0] - 1, -1, -1):
            gC[t] = hist[t + 1].t() @ gy[t]
            gh = gh + gy[t][:, None] * C[t][None]
            decay = torch.exp(-dt[t][:, None] * Ae)
            inner = gh @ B[t]
            gB[t] = (dt[t] * u[t]) @ gh
            gu[t] = dt[t] * inner
            gdecay = gh * hist[t] * decay
            gdt[t] = u[t] * inner - (gdecay * Ae).sum(1)
            gA -= gdecay * dt[t][:, None] * Ae
            gh = gh * decay
        return gu, gdt, gA, gB, gC
