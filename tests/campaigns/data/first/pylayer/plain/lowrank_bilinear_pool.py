import paddle
from paddle.autograd import PyLayer


class LowRankBilinear(PyLayer):
    @staticmethod
    def forward(ctx, x, y, U, V):
        a = paddle.tanh(paddle.matmul(x, U))
        b = paddle.tanh(paddle.matmul(y, V))
        ctx.save_for_backward(x, y, U, V, a, b)
        return a * b

    @staticmethod
    def backward(ctx, g):
        x, y, U, V, a, b = ctx.saved_tensor()
        da = g * b * (1 - a * a)
        db = g * a * (1 - b * b)
        mm = paddle.matmul
        return mm(da, U, transpose_y=True), mm(db, V, transpose_y=True), mm(x, da, transpose_x=True), mm(y, db, transpose_x=True)
