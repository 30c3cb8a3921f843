import paddle
from paddle.autograd import PyLayer


class BilinearSample(PyLayer):
    """img (H, W), pts (N, 2) as (x, y) in pixels, assumed inside the image"""

    @staticmethod
    def forward(ctx, img, pts):
        H, W = img.shape
        x, y = pts[:, 0], pts[:, 1]
        x0, y0 = paddle.floor(x), paddle.floor(y)
        fx, fy = x - x0, y - y0
        base = (y0 * W + x0).astype('int64')
        flat = img.reshape([-1])
        v = [paddle.gather(flat, base + o) for o in (0, 1, W, W + 1)]
        ctx.save_for_backward(base, fx, fy, *v)
        ctx.hw = H, W
        return (v[0] * (1 - fx) + v[1] * fx) * (1 - fy) + (v[2] * (1 - fx) + v[3] * fx) * fy

    @staticmethod
    def backward(ctx, g):
        base, fx, fy, a, b, c, d = ctx.saved_tensor()
        H, W = ctx.hw
        acc = paddle.zeros([H * W], dtype=g.dtype)
        for o, w in ((0, (1 - fx) * (1 - fy)), (1, fx * (1 - fy)), (W, (1 - fx) * fy), (W + 1, fx * fy)):
            acc = paddle.index_add(acc, base + o, 0, g * w)
        gx = g * ((b - a) * (1 - fy) + (d - c) * fy)
        gy = g * ((c - a) * (1 - fx) + (d - b) * fx)
        return acc.reshape([H, W]), paddle.stack([gy, gx], axis=1)
