import paddle
from paddle.autograd import PyLayer


def _angles(seq_len, half, base, offset, dtype):
    pos = paddle.arange(offset, offset + seq_len, dtype=dtype)
    k = paddle.arange(0, half, dtype=dtype)
    inv_freq = paddle.exp(-k / half * paddle.log(paddle.to_tensor(float(base), dtype=dtype)))
    return paddle.unsqueeze(pos, -1) * paddle.unsqueeze(inv_freq, 0)


def _rotate(x, cos, sin):
    a, b = paddle.split(x, 2, axis=-1)
    return paddle.concat([a * cos - b * sin, a * sin + b * cos], axis=-1)


class RotaryEmbedding(PyLayer):
    """Rotary position embedding, "half" layout; x is [..., seq, head_dim]."""

    @staticmethod
    def forward(ctx, x, base=10000.0, offset=0):
        if x.ndim < 2 or x.shape[-1] % 2:
            raise ValueError("x must be [..., seq, even head_dim]")
        ang = _angles(x.shape[-2], x.shape[-1] // 2, base, offset, x.dtype)
        cos, sin = paddle.cos(ang), paddle.sin(ang)
        ctx.save_for_backward(cos, sin)
        return _rotate(x, cos, sin)

    @staticmethod
    def backward(ctx, dy):
        cos, sin = ctx.saved_tensor()
        # the transpose of a rotation is the rotation by -angle
        return _rotate(dy, cos, -sin)
