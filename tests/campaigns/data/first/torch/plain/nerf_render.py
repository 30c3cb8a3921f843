import torch


class VolumeRender(torch.autograd.Function):
    """sigma (R,S), rgb (R,S,3), delta (R,S) -> colour (R,3), accumulated opacity (R,)"""

    @staticmethod
    def forward(ctx, sigma, rgb, delta):
        tau = sigma * delta
        cum = torch.cumsum(tau, 1)
        trans = torch.exp(-(cum - tau))
        alpha = 1 - torch.exp(-tau)
        w = trans * alpha
        ctx.save_for_backward(sigma, rgb, delta, cum, w)
        return (w[..., None] * rgb).sum(1), w.sum(1)

    @staticmethod
    def backward(ctx, gc, ga):
        sigma, rgb, delta, cum, w = ctx.saved_tensors
        gw = (rgb * gc[:, None, :]).sum(-1) + ga[:, None]
        # dw_i/dtau_i = exp(-cum_i);   dw_j/dtau_i = -w_j for j > i
        wg = w * gw
        tail = wg.flip(1).cumsum(1).flip(1) - wg
        gtau = gw * torch.exp(-cum) - tail
        return gtau * delta, w[..., None] * gc[:, None, :], gtau * sigma
