import paddle
from paddle.autograd import PyLayer


class GeometricMean(PyLayer):
    @staticmethod
    def forward(ctx, x, axis=-1):
        y = paddle.exp(paddle.log(x).mean(axis, keepdim=True))
        ctx.save_for_backward(x, y)
        ctx.axis = axis
        return y.squeeze(axis)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensor()
        return g.unsqueeze(ctx.axis) * y / (x.shape[ctx.axis] * x)
