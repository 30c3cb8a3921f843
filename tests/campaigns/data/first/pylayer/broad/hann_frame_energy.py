"""Short-time energy feature."""
import math

import paddle
from paddle.autograd import PyLayer


def _hann(n, dtype):
    k = paddle.arange(0, n, dtype=dtype)
    return 0.5 - 0.5 * paddle.cos(2.0 * math.pi * (k + 0.5) / n)


class HannFrameEnergy(PyLayer):
    """Energy of consecutive Hann-windowed frames of a signal [..., time]."""

    @staticmethod
    def forward(ctx, x, frame_length=4):
        t = x.shape[-1]
        if t % frame_length != 0:
            raise ValueError("pad the signal to whole frames first")
        win = _hann(frame_length, x.dtype)
        frames = paddle.reshape(x, list(x.shape[:-1]) + [t // frame_length, frame_length])
        ctx.save_for_backward(frames, win)
        ctx.in_shape = x.shape
        return paddle.sum(paddle.square(frames * win), axis=-1)

    @staticmethod
    def backward(ctx, de):
        frames, win = ctx.saved_tensor()
        g = 2.0 * paddle.unsqueeze(de, -1) * frames * win
        return paddle.reshape(g, ctx.in_shape)
