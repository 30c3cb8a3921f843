import paddle
from paddle.autograd import PyLayer


class GaussianKl(PyLayer):
    """KL(N(mu_q, e^logvar_q) || N(mu_p, e^logvar_p)), summed over the last axis."""

    @staticmethod
    def forward(ctx, mu_q, logvar_q, mu_p, logvar_p):
        for t in (logvar_q, mu_p, logvar_p):
            if list(t.shape) != list(mu_q.shape):
                raise ValueError("all four tensors must have one shape")
        if mu_q.ndim < 1:
            raise ValueError("need a feature axis")
        diff = mu_q - mu_p
        inv_p = paddle.exp(-logvar_p)
        ratio = paddle.exp(logvar_q - logvar_p)
        ctx.save_for_backward(diff, inv_p, ratio)
        kl = 0.5 * (logvar_p - logvar_q + ratio + diff * diff * inv_p - 1.0)
        return paddle.sum(kl, axis=-1)

    @staticmethod
    def backward(ctx, dy):
        diff, inv_p, ratio = ctx.saved_tensor()
        g = paddle.unsqueeze(dy, -1)
        d_mu = g * diff * inv_p
        d_lq = g * 0.5 * (ratio - 1.0)
        d_lp = g * 0.5 * (1.0 - ratio - diff * diff * inv_p)
        return d_mu, d_lq, -d_mu, d_lp
