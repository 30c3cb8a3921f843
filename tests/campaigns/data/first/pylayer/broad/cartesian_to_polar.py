import paddle
from paddle.autograd import PyLayer


class CartesianToPolar(PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        if list(x.shape) != list(y.shape):
            raise ValueError("x and y differ in shape")
        r = paddle.sqrt(x * x + y * y)
        theta = paddle.atan2(y, x)
        ctx.save_for_backward(x, y, r)
        return r, theta

    @staticmethod
    def backward(ctx, dr, dtheta):
        x, y, r = ctx.saved_tensor()
        c, s = x / r, y / r
        dx = dr * c - dtheta * s
        dy = dr * s + dtheta * c
        return dx, dy
