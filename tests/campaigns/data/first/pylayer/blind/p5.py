import paddle
from paddle.autograd import PyLayer


class PlaneDistance(PyLayer):
    @staticmethod
    def forward(ctx, p, normal, offset):
        if p.ndim != 2 or p.shape[1] != 3 or list(normal.shape) != [3] or list(offset.shape) != [1]:
            raise ValueError("expected p (N, 3), normal (3,), offset (1,)")
        ln = paddle.sqrt((normal * normal).sum() + 1e-12)
        dist = ((p * normal).sum(axis=1) + offset) / ln
        ctx.save_for_backward(p, normal, ln, dist)
        return dist

    @staticmethod
    def backward(ctx, dy):
        p, normal, ln, dist = ctx.saved_tensor()
        dp = dy.unsqueeze(1) * normal / ln
        dn = (dy.unsqueeze(1) * p).sum(axis=0) / ln - (dy * dist).sum() * normal / (ln * ln)
        return dp, dn, (dy.sum() / ln).reshape([1])


class PlanarCompose(PyLayer):
    @staticmethod
    def forward(ctx, pose, point):
        if pose.ndim != 2 or pose.shape[1] != 3 or point.ndim != 2 or point.shape[1] != 2 or pose.shape[0] != point.shape[0]:
            raise ValueError("expected pose (N, 3) and point (N, 2)")
        ctx.save_for_backward(pose, point)
        c, s = paddle.cos(pose[:, 2]), paddle.sin(pose[:, 2])
        return paddle.stack([pose[:, 0] + c * point[:, 0] - s * point[:, 1],
                             pose[:, 1] + s * point[:, 0] + c * point[:, 1]], axis=1)

    @staticmethod
    def backward(ctx, dy):
        pose, point = ctx.saved_tensor()
        c, s = paddle.cos(pose[:, 2]), paddle.sin(pose[:, 2])
        a, b = dy[:, 0], dy[:, 1]
        x, y = point[:, 0], point[:, 1]
        dth = a * (-s * x - c * y) + b * (c * x - s * y)
        dpose = paddle.stack([a, b, dth], axis=1)
        return dpose, paddle.stack([c * a - s * b, s * a + c * b], axis=1)


class RowQuadratic(PyLayer):
    @staticmethod
    def forward(ctx, x, m):
        if x.ndim != 2 or m.ndim != 2 or m.shape[0] != m.shape[1] or m.shape[0] != x.shape[1]:
            raise ValueError("expected x (N, D) and m (D, D)")
        ctx.save_for_backward(x, m)
        return (paddle.matmul(x, m) * x).sum(axis=1)

    @staticmethod
    def backward(ctx, dy):
        x, m = ctx.saved_tensor()
        gx = dy.unsqueeze(1) * x
        return paddle.matmul(gx, m + m.transpose([1, 0])), paddle.matmul(x, gx, transpose_x=True)


class NearestCost(PyLayer):
    @staticmethod
    def forward(ctx, x, y):
        if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1] or y.shape[0] == 0:
            raise ValueError("expected x (N, D) and y (M, D)")
        d = ((x.unsqueeze(1) - y.unsqueeze(0)) ** 2).sum(axis=2)
        j = paddle.argmin(d, axis=1)
        ctx.save_for_backward(x, y, j)
        return d.min(axis=1)

    @staticmethod
    def backward(ctx, dy):
        x, y, j = ctx.saved_tensor()
        e = 2 * dy.unsqueeze(1) * (x - paddle.gather(y, j, axis=0))
        return e, paddle.scatter_nd_add(paddle.zeros_like(y), j.unsqueeze(1), -e)


class TraceOfProduct(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        if a.ndim != 2 or a.shape[0] != a.shape[1] or a.shape != b.shape:
            raise ValueError("expected two square matrices of one size")
        ctx.save_for_backward(a, b)
        return (a * b.transpose([1, 0])).sum()

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_tensor()
        return dy * b.transpose([1, 0]), dy * a


class MatrixCube(PyLayer):
    @staticmethod
    def forward(ctx, a):
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ValueError("expected a square matrix")
        ctx.save_for_backward(a)
        return paddle.matmul(paddle.matmul(a, a), a)

    @staticmethod
    def backward(ctx, dy):
        (a,) = ctx.saved_tensor()
        at = a.transpose([1, 0])
        a2 = paddle.matmul(at, at)
        return paddle.matmul(dy, a2) + 2 * paddle.matmul(a2, dy)


class OrthogonalPenalty(PyLayer):
    @staticmethod
    def forward(ctx, w):
        if w.ndim != 2:
            raise ValueError("expected a matrix")
        r = paddle.matmul(w, w, transpose_x=True) - paddle.eye(w.shape[1], dtype=w.dtype)
        ctx.save_for_backward(w, r)
        return (r * r).sum()

    @staticmethod
    def backward(ctx, dy):
        w, r = ctx.saved_tensor()
        return 4 * dy * paddle.matmul(w, r)


class Trilinear(PyLayer):
    @staticmethod
    def forward(ctx, a, t, b):
        if a.ndim != 2 or t.ndim != 3 or b.ndim != 2 or a.shape[0] != b.shape[0]:
            raise ValueError("expected a (N, I), t (I, J, K), b (N, J)")
        if t.shape[0] != a.shape[1] or t.shape[1] != b.shape[1]:
            raise ValueError("t does not fit")
        ctx.save_for_backward(a, t, b)
        return paddle.einsum("ni,ijk,nj->nk", a, t, b)

    @staticmethod
    def backward(ctx, dy):
        a, t, b = ctx.saved_tensor()
        da = paddle.einsum("nk,ijk,nj->ni", dy, t, b)
        dt = paddle.einsum("nk,ni,nj->ijk", dy, a, b)
        db = paddle.einsum("nk,ijk,ni->nj", dy, t, a)
        return da, dt, db


class CholeskyLogDet(PyLayer):
    @staticmethod
    def forward(ctx, a):
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ValueError("expected a square matrix")
        s = 0.5 * (a + a.transpose([1, 0]))
        l = paddle.linalg.cholesky(s)
        ctx.save_for_backward(l)
        return 2 * paddle.log(paddle.diagonal(l)).sum()

    @staticmethod
    def backward(ctx, dy):
        (l,) = ctx.saved_tensor()
        li = paddle.linalg.inv(l)
        return dy * paddle.matmul(li, li, transpose_y=True)


class CircularFilter(PyLayer):
    @staticmethod
    def forward(ctx, x, h):
        if x.ndim != 1 or x.shape[0] == 0 or x.shape != h.shape:
            raise ValueError("expected two signals of one length")
        n = x.shape[0]
        ctx.save_for_backward(x, h)
        return sum(h[k] * paddle.roll(x, k) for k in range(n))

    @staticmethod
    def backward(ctx, dy):
        x, h = ctx.saved_tensor()
        n = x.shape[0]
        dx = sum(h[k] * paddle.roll(dy, -k) for k in range(n))
        dh = paddle.stack([(dy * paddle.roll(x, -k)).sum() for k in range(n)])
        return dx, dh
