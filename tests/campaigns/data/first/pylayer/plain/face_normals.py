import paddle
from paddle.autograd import PyLayer


class FaceNormals(PyLayer):
    @staticmethod
    def forward(ctx, verts, faces):
        a, b, c = (paddle.gather(verts, faces[:, k]) for k in range(3))
        e1, e2 = b - a, c - a
        n = paddle.cross(e1, e2, axis=1)
        ln = paddle.norm(n, axis=1, keepdim=True)
        ctx.save_for_backward(faces, e1, e2, n / ln, ln)
        ctx.nv = verts.shape[0]
        return n / ln

    @staticmethod
    def backward(ctx, g):
        faces, e1, e2, u, ln = ctx.saved_tensor()
        gn = (g - u * (g * u).sum(1, keepdim=True)) / ln
        g1 = paddle.cross(e2, gn, axis=1)
        g2 = paddle.cross(gn, e1, axis=1)
        acc = paddle.zeros([ctx.nv, 3], dtype=g.dtype)
        acc = paddle.index_add(acc, faces[:, 1], 0, g1)
        acc = paddle.index_add(acc, faces[:, 2], 0, g2)
        acc = paddle.index_add(acc, faces[:, 0], 0, -(g1 + g2))
        return acc, None
