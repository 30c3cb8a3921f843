import torch


class PowerSpectrum(torch.autograd.Function):
    """One-sided periodogram |rfft(x)|^2 / n along the last axis."""

    @staticmethod
    def forward(ctx, x):
        X = torch.fft.rfft(x)
        ctx.save_for_backward(X)
        ctx.n = x.shape[-1]
        return (X.real**2 + X.imag**2) / ctx.n

    @staticmethod
    def backward(ctx, g):
        (X,) = ctx.saved_tensors
        # d|X|^2 = 2 Re(conj(X) dX); the 1/n cancels the one of the inverse transform
        return 2.0 * torch.fft.irfft(g * X, n=ctx.n)
