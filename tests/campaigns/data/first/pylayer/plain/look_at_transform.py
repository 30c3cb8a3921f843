import paddle
from paddle.autograd import PyLayer


class RigidTransform(PyLayer):
    # y = R (x - t), rows of x are points
    @staticmethod
    def forward(ctx, x, R, t):
        c = x - t
        ctx.save_for_backward(c, R)
        return paddle.matmul(c, R, transpose_y=True)

    @staticmethod
    def backward(ctx, g):
        c, R = ctx.saved_tensor()
        gx = paddle.matmul(g, R)
        gR = paddle.matmul(c, g, transpose_x=True)
        return gx, gR, -gx.sum(0)
