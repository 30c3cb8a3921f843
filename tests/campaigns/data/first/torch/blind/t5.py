import torch
from torch.autograd import Function


class QuatRotate(Function):
    @staticmethod
    def forward(ctx, q, v):
        if q.dim() != 2 or q.shape[1] != 4 or v.dim() != 2 or v.shape[1] != 3 or q.shape[0] != v.shape[0]:
            raise ValueError("expected q (N, 4) and v (N, 3)")
        ctx.save_for_backward(q, v)
        w, u = q[:, :1], q[:, 1:]
        uu, uv = (u * u).sum(1, keepdim=True), (u * v).sum(1, keepdim=True)
        return (w * w - uu) * v + 2 * uv * u + 2 * w * torch.linalg.cross(u, v)

    @staticmethod
    def backward(ctx, g):
        q, v = ctx.saved_tensors
        w, u = q[:, :1], q[:, 1:]
        uu, uv = (u * u).sum(1, keepdim=True), (u * v).sum(1, keepdim=True)
        gv, gu = (g * v).sum(1, keepdim=True), (g * u).sum(1, keepdim=True)
        dw = 2 * w * gv + 2 * (g * torch.linalg.cross(u, v)).sum(1, keepdim=True)
        du = -2 * u * gv + 2 * v * gu + 2 * uv * g + 2 * w * torch.linalg.cross(v, g)
        dv = (w * w - uu) * g + 2 * gu * u + 2 * w * torch.linalg.cross(g, u)
        return torch.cat([dw, du], 1), dv


class PinholeProject(Function):
    @staticmethod
    def forward(ctx, p, fx=1.5, fy=1.2, cx=0.1, cy=-0.2):
        if p.dim() != 2 or p.shape[1] != 3:
            raise ValueError("expected points (N, 3)")
        x, y, z = p.unbind(1)
        ctx.save_for_backward(p)
        ctx.f = fx, fy
        return torch.stack([fx * x / z + cx, fy * y / z + cy], 1)

    @staticmethod
    def backward(ctx, g):
        (p,) = ctx.saved_tensors
        fx, fy = ctx.f
        x, y, z = p.unbind(1)
        gx, gy = g.unbind(1)
        dz = -(gx * fx * x + gy * fx * y) / (z * z)
        return torch.stack([gx * fx / z, gy * fy / z, dz], 1), None, None, None, None


class RigidMove(Function):
    @staticmethod
    def forward(ctx, rot, t, p):
        if rot.shape != (3, 3) or t.shape != (3,) or p.dim() != 2 or p.shape[1] != 3:
            raise ValueError("expected rot (3, 3), t (3,), p (N, 3)")
        ctx.save_for_backward(rot, p)
        return p @ rot.T + t

    @staticmethod
    def backward(ctx, g):
        rot, p = ctx.saved_tensors
        return g.T @ p, g.sum(0), g @ rot


class PairwiseSquared(Function):
    @staticmethod
    def forward(ctx, x, y):
        if x.dim() != 2 or y.dim() != 2 or x.shape[1] != y.shape[1]:
            raise ValueError("expected (N, D) and (M, D)")
        ctx.save_for_backward(x, y)
        return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        dx = 2 * (g.sum(1)[:, None] * x - g @ y)
        dy = 2 * (g.sum(0)[:, None] * y - g.T @ x)
        return dx, dy


class CosineRows(Function):
    @staticmethod
    def forward(ctx, a, b):
        if a.dim() != 2 or a.shape != b.shape:
            raise ValueError("expected two matrices of one shape")
        na = torch.sqrt((a * a).sum(1, keepdim=True) + 1e-12)
        nb = torch.sqrt((b * b).sum(1, keepdim=True) + 1e-12)
        c = (a * b).sum(1, keepdim=True) / (na * nb)
        ctx.save_for_backward(a, b, na, nb, c)
        return c.squeeze(1)

    @staticmethod
    def backward(ctx, g):
        a, b, na, nb, c = ctx.saved_tensors
        g = g.unsqueeze(1)
        da = g * (b / (na * nb) - c * a / (na * na))
        db = g * (a / (na * nb) - c * b / (na * na))
        return da, db


class LinearSolve(Function):
    @staticmethod
    def forward(ctx, a, b):
        if a.dim() != 2 or a.shape[0] != a.shape[1] or b.dim() != 2 or b.shape[0] != a.shape[0]:
            raise ValueError("expected a (N, N) and b (N, K)")
        x = torch.linalg.solve(a, b)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        db = torch.linalg.solve(a.T, g)
        return -db @ x.T, db


class LogAbsDet(Function):
    @staticmethod
    def forward(ctx, a):
        if a.dim() != 2 or a.shape[0] != a.shape[1]:
            raise ValueError("expected a square matrix")
        ctx.save_for_backward(a)
        return torch.linalg.slogdet(a)[1]

    @staticmethod
    def backward(ctx, g):
        (a,) = ctx.saved_tensors
        return g * torch.linalg.inv(a)


class CholFactor(Function):
    @staticmethod
    def forward(ctx, a):
        if a.dim() != 2 or a.shape[0] != a.shape[1]:
            raise ValueError("expected a square matrix")
        l = torch.linalg.cholesky((a + a.T) / 2)
        ctx.save_for_backward(l)
        return l

    @staticmethod
    def backward(ctx, g):
        (l,) = ctx.saved_tensors
        p = torch.tril(l.T @ g)
        p = p - 0.5 * torch.diag(torch.diagonal(p))
        li = torch.linalg.inv(l)
        s = li.T @ p @ li
        return (s + s.T) / 2


class InverseMatrix(Function):
    @staticmethod
    def forward(ctx, a):
        if a.dim() != 2 or a.shape[0] != a.shape[1]:
            raise ValueError("expected a square matrix")
        y = torch.linalg.inv(a)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return -y @ g @ y


class SignedArea(Function):
    @staticmethod
    def forward(ctx, a, b, c):
        if a.dim() != 2 or a.shape[1] != 2 or a.shape != b.shape or a.shape != c.shape:
            raise ValueError("expected three lists of points (N, 2)")
        ctx.save_for_backward(a, b, c)
        u, v = b - a, c - a
        return 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])

    @staticmethod
    def backward(ctx, g):
        a, b, c = ctx.saved_tensors
        h = 0.5 * g[:, None]

        def turn(d):
            return torch.stack([-d[:, 1], d[:, 0]], 1)

        return h * turn(c - b), h * turn(a - c), h * turn(a - b)


class SymmetricSpectrum(Function):
    @staticmethod
    def forward(ctx, a):
        if a.dim() != 2 or a.shape[0] != a.shape[1]:
            raise ValueError("expected a square matrix")
        w, v = torch.linalg.eigh((a + a.T) / 2)
        ctx.save_for_backward(v)
        return w

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        return (v * g) @ v.T
