import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_vjp
def matinv(M):
    """Matrix inverse reusing the result for the backward."""
    return jnp.linalg.inv(M)


def _fwd(M):
    Y = jnp.linalg.inv(M)
    return Y, Y


def _bwd(Y, G):
    return (-Y @ G @ Y,)


matinv.defvjp(_fwd, _bwd)


def _lin(A, b):
    if A.ndim != 2 or b.ndim != 1:
        raise ValueError("A (n, n), b (n,)")
    return jnp.linalg.solve(A, b)


def _lin_fwd(A, b):
    x = _lin(A, b)
    return x, (A, x)


def _lin_bwd(res, g):
    A, x = res
    lam = jnp.linalg.solve(A.T, g)
    return -jnp.outer(x, lam), lam


linear_solve = jax.custom_vjp(_lin)
linear_solve.defvjp(_lin_fwd, _lin_bwd)


@jax.custom_vjp
def fixed_point(W, x):
    """z = tanh(W z + x), nan when it does not converge."""
    if x.ndim != 1 or W.shape != x.shape * 2:
        raise ValueError("W (n, n), x (n,)")
    tol = 200 * jnp.finfo(x.dtype).eps

    def body(c):
        i, z, _ = c
        zn = jnp.tanh(W @ z + x)
        return i + 1, zn, jnp.abs(zn - z).max()

    init = (0, jnp.zeros_like(x), jnp.asarray(1.0, x.dtype))
    _, z, r = lax.while_loop(lambda c: (c[0] < 5000) & (c[2] > tol), body, init)
    return jnp.where(r > tol, jnp.nan, z)


def _fp_fwd(W, x):
    z = fixed_point(W, x)
    return z, (W, z)


def _fp_bwd(res, g):
    W, z = res
    J = (1 - z**2)[:, None] * W
    u = jnp.linalg.solve(jnp.eye(z.size, dtype=z.dtype) - J, g)
    u = u * (1 - z**2)
    return jnp.outer(u, z), u


fixed_point.defvjp(_fp_fwd, _fp_bwd)


@jax.custom_vjp
def rotate_by_quaternion(q, v):
    """Rotate v (..., 3) by the quaternion q (..., 4) = (w, x, y, z), normalised here."""
    if q.shape[-1] != 4 or v.shape[-1] != 3 or q.shape[:-1] != v.shape[:-1]:
        raise ValueError("q (..., 4), v (..., 3)")
    q = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
    w, u = q[..., :1], q[..., 1:]
    t = 2 * jnp.cross(u, v)
    return v + w * t + jnp.cross(u, t)


def _rq_fwd(q, v):
    qn = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
    return rotate_by_quaternion(q, v), (qn, v)


def _rq_bwd(res, g):
    qn, v = res
    w, u = qn[..., :1], qn[..., 1:]
    dot = lambda a, b: (a * b).sum(-1, keepdims=True)
    dw = 2 * dot(g, jnp.cross(u, v))
    du = 2 * (w * jnp.cross(v, g) + dot(u, v) * g + dot(u, g) * v - 2 * dot(v, g) * u)
    t = 2 * jnp.cross(-u, g)
    dv = g + w * t + jnp.cross(-u, t)
    return jnp.concatenate([dw, du], -1), dv


rotate_by_quaternion.defvjp(_rq_fwd, _rq_bwd)


@jax.custom_vjp
def chol(a):
    """Lower Cholesky factor of the symmetric part of a."""
    return jnp.linalg.cholesky(a)


def _chol_fwd(a):
    L = chol(a)
    return L, L


def _chol_bwd(L, g):
    P = jnp.tril(jnp.swapaxes(L, -1, -2) @ g)
    Li = jnp.linalg.inv(L)
    S = jnp.swapaxes(Li, -1, -2) @ P @ Li
    return (0.5 * (S + jnp.swapaxes(S, -1, -2)),)


chol.defvjp(_chol_fwd, _chol_bwd)


@jax.custom_jvp
def hypot(a, b):
    return jnp.sqrt(a * a + b * b)


hypot.defjvps(lambda t, r, a, b: t * a / r, None)


@jax.custom_jvp
def angle(y, x):
    """Polar angle of the point (x, y)."""
    if y.shape != x.shape:
        raise ValueError("y and x")
    return jnp.arctan2(y, x)


@angle.defjvp
def angle_jvp(primals, tangents):
    y, x = primals
    dy, dx = tangents
    return angle(y, x), (x * dy + y * dx) / (x * x + y * y)


@jax.custom_jvp
def log_abs_det(A):
    return jnp.linalg.slogdet(A)[1]


@log_abs_det.defjvp
def _lad_jvp(primals, tangents):
    (A,), (dA,) = primals, tangents
    return log_abs_det(A), jnp.sum(jnp.linalg.inv(A) * dA, axis=(-2, -1))


@jax.custom_jvp
@jax.jit
def V(r, q):
    """Coulomb energy of point charges q at positions r (n, dim), softened."""
    if r.ndim != 2 or q.shape != r.shape[:1]:
        raise ValueError("r (n, d), q (n,)")
    d2 = jnp.sum((r[:, None] - r[None]) ** 2, -1) + 1e-4
    off = 1 - jnp.eye(r.shape[0], dtype=r.dtype)
    return 0.5 * jnp.sum(off * q[:, None] * q[None, :] / jnp.sqrt(d2))


@V.defjvp
def _V_jvp(primals, tangents):
    r, q = primals
    dr, dq = tangents
    diff = r[:, None] - r[None]
    d2 = jnp.sum(diff**2, -1) + 1e-4
    k = (1 - jnp.eye(r.shape[0], dtype=r.dtype)) / jnp.sqrt(d2)
    phi = k @ q
    field = jnp.sum((q[None, :] * k / d2)[..., None] * diff, axis=1)
    return V(r, q), jnp.sum(phi * dq) - 0.5 * jnp.sum(q[:, None] * field * dr)
