import paddle
from paddle.autograd import PyLayer


class AvgPool1d(PyLayer):
    """Non-overlapping average pooling along the last axis."""

    @staticmethod
    def forward(ctx, x, kernel_size=2):
        length = x.shape[-1]
        if length % kernel_size:
            raise ValueError("length must be a multiple of kernel_size")
        ctx.k = kernel_size
        ctx.in_shape = list(x.shape)
        blocks = paddle.reshape(x, ctx.in_shape[:-1] + [length // kernel_size, kernel_size])
        return paddle.mean(blocks, axis=-1)

    @staticmethod
    def backward(ctx, dy):
        g = paddle.unsqueeze(dy, -1)
        g = paddle.expand(g, list(dy.shape) + [ctx.k])
        return paddle.reshape(g, ctx.in_shape)
