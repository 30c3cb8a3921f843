import paddle
from paddle.autograd import PyLayer


class Cross3(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return paddle.cross(a, b, axis=-1)

    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensor()
        return paddle.cross(b, g, axis=-1), paddle.cross(g, a, axis=-1)


class RigidMove(PyLayer):
    """p (N, 3) -> p R^T + t."""

    @staticmethod
    def forward(ctx, p, R, t):
        ctx.save_for_backward(p, R)
        return paddle.matmul(p, R, transpose_y=True) + t

    @staticmethod
    def backward(ctx, g):
        p, R = ctx.saved_tensor()
        return paddle.matmul(g, R), paddle.matmul(p, g, transpose_x=True), g.sum(axis=0)


class PairDist(PyLayer):
    """Distances of all rows of a from all rows of b."""

    @staticmethod
    def forward(ctx, a, b):
        d = a.unsqueeze(1) - b.unsqueeze(0)
        r = paddle.sqrt((d * d).sum(axis=-1) + 1e-8)
        ctx.save_for_backward(d, r)
        return r

    @staticmethod
    def backward(ctx, g):
        d, r = ctx.saved_tensor()
        u = d * (g / r).unsqueeze(-1)
        return u.sum(axis=1), u.sum(axis=0)


class Rot2D(PyLayer):
    @staticmethod
    def forward(ctx, p, angle):
        c, s = paddle.cos(angle), paddle.sin(angle)
        ctx.save_for_backward(p, c, s)
        x, y = p[..., 0], p[..., 1]
        return paddle.stack([c * x - s * y, s * x + c * y], axis=-1)

    @staticmethod
    def backward(ctx, g):
        p, c, s = ctx.saved_tensor()
        x, y = p[..., 0], p[..., 1]
        u, v = g[..., 0], g[..., 1]
        dp = paddle.stack([c * u + s * v, c * v - s * u], axis=-1)
        dang = u * (-s * x - c * y) + v * (c * x - s * y)
        return dp, dang


class BilinearPair(PyLayer):
    """y[n, k] = x1[n] W[k] x2[n]^T + b[k]."""

    @staticmethod
    def forward(ctx, x1, W, x2, b):
        ctx.save_for_backward(x1, W, x2)
        return paddle.einsum("ni,kij,nj->nk", x1, W, x2) + b

    @staticmethod
    def backward(ctx, g):
        x1, W, x2 = ctx.saved_tensor()
        dx1 = paddle.einsum("nk,kij,nj->ni", g, W, x2)
        dW = paddle.einsum("nk,ni,nj->kij", g, x1, x2)
        dx2 = paddle.einsum("nk,kij,ni->nj", g, W, x1)
        return dx1, dW, dx2, g.sum(axis=0)


class Sandwich(PyLayer):
    """A X B for matrices."""

    @staticmethod
    def forward(ctx, A, X, B):
        ctx.save_for_backward(A, X, B)
        return paddle.matmul(paddle.matmul(A, X), B)

    @staticmethod
    def backward(ctx, g):
        A, X, B = ctx.saved_tensor()
        gb = paddle.matmul(g, B, transpose_y=True)
        dA = paddle.matmul(gb, X, transpose_y=True)
        dX = paddle.matmul(A, gb, transpose_x=True)
        dB = paddle.matmul(paddle.matmul(A, X), g, transpose_x=True)
        return dA, dX, dB


class LogDetChol(PyLayer):
    """log det of symmetric positive definite matrices, by Cholesky."""

    @staticmethod
    def forward(ctx, S):
        L = paddle.linalg.cholesky(S)
        ctx.save_for_backward(S)
        return 2 * paddle.log(paddle.diagonal(L, axis1=-2, axis2=-1)).sum(axis=-1)

    @staticmethod
    def backward(ctx, g):
        (S,) = ctx.saved_tensor()
        return g.unsqueeze(-1).unsqueeze(-1) * paddle.linalg.inv(S)
