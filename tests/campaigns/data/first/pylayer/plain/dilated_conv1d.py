import paddle
from paddle.autograd import PyLayer


class DilatedFIR(PyLayer):
    """valid correlation along the last axis: y[t] = sum_k w[k] x[t + k*dilation]"""

    @staticmethod
    def forward(ctx, x, w, dilation=1):
        K = w.shape[0]
        n = x.shape[-1] - (K - 1) * dilation
        y = sum(w[k] * x[..., k * dilation:k * dilation + n] for k in range(K))
        ctx.save_for_backward(x, w)
        ctx.dilation, ctx.n = dilation, n
        return y

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensor()
        d, n = ctx.dilation, ctx.n
        gx = paddle.zeros_like(x)
        gw = []
        for k in range(w.shape[0]):
            o = k
            gx[..., o:o + n] = gx[..., o:o + n] + g * w[k]
            gw.append((g * x[..., k * d:k * d + n]).sum())
        return gx, paddle.stack(gw)
