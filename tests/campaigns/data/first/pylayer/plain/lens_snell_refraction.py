import paddle
from paddle.autograd import PyLayer


class Snell(PyLayer):
    """refraction angle asin(n1/n2 sin(theta)) and the Fresnel-like path factor cos(t)/cos(i)"""

    @staticmethod
    def forward(ctx, theta, n1=1.0, n2=1.33):
        eta = n1 / n2
        si = paddle.sin(theta)
        ci = paddle.cos(theta)
        ct = paddle.sqrt(1 - (eta * si) ** 2)
        ctx.save_for_backward(si, ci, ct)
        ctx.eta = eta
        return paddle.asin(eta * si), ct / ci

    @staticmethod
    def backward(ctx, g_t, g_f):
        si, ci, ct = ctx.saved_tensor()
        eta = ctx.eta
        d_angle = eta * ci / ct
        d_ct = -eta * eta * si * ci / ct
        d_factor = d_ct / ci + ct * si / (ci * ci)
        return g_t * d_angle + g_f * d_factor
