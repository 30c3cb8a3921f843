import paddle
from paddle.autograd import PyLayer


class SphericalToCartesian(PyLayer):
    @staticmethod
    def forward(ctx, r, theta, phi):
        st, ct, sp, cp = paddle.sin(theta), paddle.cos(theta), paddle.sin(phi), paddle.cos(phi)
        ctx.save_for_backward(r, st, ct, sp, cp)
        return r * st * cp, r * st * sp, r * ct

    @staticmethod
    def backward(ctx, gx, gy, gz):
        r, st, ct, sp, cp = ctx.saved_tensor()
        gr = gx * st * cp + gy * st * sp + gz * ct
        gtheta = r * (gx * ct * cp + gy * ct * sp - gz * st)
        gphi = r * st * (gy * cp - gx * sp)
        return gr, gtheta, gphi
