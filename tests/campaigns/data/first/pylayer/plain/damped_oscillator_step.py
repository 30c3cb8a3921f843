import paddle
from paddle.autograd import PyLayer


class DampedOscillator(PyLayer):
    """semi-implicit Euler: v' = v - dt (k x + c v);  x' = x + dt v'"""

    @staticmethod
    def forward(ctx, x, v, k, c, dt=0.1):
        vn = v - dt * (k * x + c * v)
        ctx.save_for_backward(x, v, vn, k, c)
        ctx.dt = dt
        return x + dt * vn, vn

    @staticmethod
    def backward(ctx, gx, gv):
        x, v, vn, k, c = ctx.saved_tensor()
        dt = ctx.dt
        h = gv + dt * gx
        return gx - dt * k * h, h * (1 - dt * c), -dt * h * x, -dt * h * vn
