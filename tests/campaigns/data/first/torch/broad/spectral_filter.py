import torch


class SpectralFilter(torch.autograd.Function):
    """Zero-phase filter: irfft(rfft(x) * response), along the last axis."""

    @staticmethod
    def forward(ctx, x, response):
        n = x.shape[-1]
        if response.shape != (n // 2 + 1,):
            raise ValueError("response must be [n // 2 + 1]")
        X = torch.fft.rfft(x)
        ctx.save_for_backward(X, response)
        ctx.n = n
        return torch.fft.irfft(X * response, n=n)

    @staticmethod
    def backward(ctx, dy):
        X, response = ctx.saved_tensors
        n = ctx.n
        D = torch.fft.rfft(dy)
        # a real response is a symmetric circulant matrix: its own adjoint
        dx = torch.fft.irfft(D * response, n=n)
        # every bin except DC and (n even) Nyquist stands for two
        mult = torch.full_like(response, 2.0)
        mult[0] = 1.0
        if n % 2 == 0:
            mult[-1] = 1.0
        dr = (D.conj() * X).real * mult / n
        return dx, dr.reshape(-1, mult.numel()).sum(0)
