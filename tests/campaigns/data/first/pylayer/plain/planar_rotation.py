import paddle
from paddle.autograd import PyLayer


class Planar(PyLayer):
    # rotate each 2-D point by its own angle about a common pivot
    @staticmethod
    def forward(ctx, ang, pts, pivot):
        d = pts - pivot
        c, s = paddle.cos(ang), paddle.sin(ang)
        rx = c * d[:, 0] - s * d[:, 1]
        ry = s * d[:, 0] + c * d[:, 1]
        ctx.save_for_backward(c, s, rx, ry)
        return paddle.stack([rx, ry], axis=1) + pivot

    @staticmethod
    def backward(ctx, g):
        c, s, rx, ry = ctx.saved_tensor()
        gx, gy = g[:, 0], g[:, 1]
        ga = gy * rx - gx * ry
        gp = paddle.stack([c * gx + s * gy, c * gy - s * gx], axis=1)
        return ga, gp, (g - gp).sum(0)
