import functools

import jax
import jax.numpy as jnp
from jax import lax


def T(a):
    return jnp.swapaxes(a, -1, -2)


@jax.custom_vjp
def inv(a):
    return jnp.linalg.inv(a)


def inv_fwd(a):
    y = jnp.linalg.inv(a)
    return y, y


def inv_bwd(y, g):
    return (-T(y) @ g @ T(y),)


inv.defvjp(inv_fwd, inv_bwd)


@jax.custom_vjp
def solve(A, b):
    """x with A x = b, for one matrix and a vector or a block of columns."""
    if A.ndim != 2 or b.ndim not in (1, 2):
        raise ValueError("solve: A (n, n), b (n,) or (n, k)")
    return jnp.linalg.solve(A, b)


def _solve_fwd(A, b):
    x = solve(A, b)
    return x, (A, x)


def _solve_bwd(res, g):
    A, x = res
    w = jnp.linalg.solve(A.T, g)
    if x.ndim == 1:
        return -jnp.outer(w, x), w
    return -w @ x.T, w


solve.defvjp(_solve_fwd, _solve_bwd)


def _iterate(W, x):
    tol = 200 * jnp.finfo(x.dtype).eps

    def cond(c):
        i, z, r = c
        return (i < 5000) & (r > tol)

    def body(c):
        i, z, _ = c
        zn = jnp.tanh(W @ z + x)
        return i + 1, zn, jnp.max(jnp.abs(zn - z))

    _, z, r = lax.while_loop(cond, body, (0, jnp.tanh(x), jnp.asarray(1.0, x.dtype)))
    return jnp.where(r > tol, jnp.nan, z)


@jax.custom_vjp
def deq(W, x):
    """Equilibrium z = tanh(W z + x). NaN if the iteration does not settle."""
    if x.ndim != 1 or W.shape != x.shape * 2:
        raise ValueError("W (n, n), x (n,)")
    return _iterate(W, x)


def _deq_fwd(W, x):
    z = deq(W, x)
    return z, (W, z)


def _deq_bwd(res, g):
    W, z = res
    d = 1 - z * z
    n = z.shape[0]
    u = jnp.linalg.solve(jnp.eye(n, dtype=z.dtype) - W.T * d[None, :], g)
    v = d * u
    return jnp.outer(v, z), v


deq.defvjp(_deq_fwd, _deq_bwd)


def _tau(z):
    s = -jnp.sort(-z, axis=-1)
    c = jnp.cumsum(s, axis=-1) - 1
    k = jnp.arange(1, z.shape[-1] + 1).astype(z.dtype)
    count = jnp.sum(s - c / k > 0, axis=-1, keepdims=True)
    return jnp.take_along_axis(c, count - 1, axis=-1) / count.astype(z.dtype)


@jax.custom_vjp
def sparsemax(z):
    """Projection of z onto the simplex (last axis)."""
    return jnp.maximum(z - _tau(z), 0)


@jax.jit
def _sm_bwd(p, g):
    on = (p > 0).astype(g.dtype)
    m = (on * g).sum(-1, keepdims=True) / on.sum(-1, keepdims=True)
    return (on * (g - m),)


def _sm_fwd(z):
    p = sparsemax(z)
    return p, p


sparsemax.defvjp(_sm_fwd, _sm_bwd)


def _rot(w, u, v):
    t = 2.0 * jnp.cross(u, v)
    return v + w * t + jnp.cross(u, t)


@jax.custom_vjp
def quat_rotate(q, v):
    """Rotate v (..., 3) by q (..., 4), scalar first; q need not be unit."""
    if q.shape[-1] != 4 or v.shape[-1] != 3 or q.shape[:-1] != v.shape[:-1]:
        raise ValueError("q (..., 4), v (..., 3)")
    q = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
    return _rot(q[..., :1], q[..., 1:], v)


def _qr_fwd(q, v):
    return quat_rotate(q, v), (q, v)


def _qr_bwd(res, g):
    q, v = res
    n = jnp.linalg.norm(q, axis=-1, keepdims=True)
    qn = q / n
    w, u = qn[..., :1], qn[..., 1:]
    dot = lambda a, b: jnp.sum(a * b, axis=-1, keepdims=True)
    dw = 2 * dot(g, jnp.cross(u, v))
    du = 2 * (w * jnp.cross(v, g) + dot(u, v) * g + dot(u, g) * v - 2 * dot(v, g) * u)
    d = jnp.concatenate([dw, du], axis=-1)
    dq = (d - qn * dot(qn, d)) / n
    return dq, _rot(w, -u, g)


quat_rotate.defvjp(_qr_fwd, _qr_bwd)


def _pairs(r):
    i, j = jnp.triu_indices(r.shape[0], 1)
    d = r[i] - r[j]
    return i, j, d, jnp.sum(d * d, -1)


@jax.custom_vjp
def E(r, p):
    """Lennard-Jones energy. r: (atoms, dim), p = (epsilon, sigma)."""
    eps, sig = p
    if r.ndim != 2 or jnp.ndim(eps) or jnp.ndim(sig):
        raise ValueError("r (n, d); epsilon and sigma scalars")
    _, _, _, d2 = _pairs(r)
    s6 = (sig * sig / d2) ** 3
    return 4 * eps * jnp.sum(s6 * s6 - s6)


def _E_fwd(r, p):
    return E(r, p), (r, p)


def _E_bwd(res, g):
    r, (eps, sig) = res
    i, j, d, d2 = _pairs(r)
    s6 = (sig * sig / d2) ** 3
    k = 4 * eps * (-12 * s6 * s6 + 6 * s6) / d2
    f = k[:, None] * d
    dr = jnp.zeros_like(r).at[i].add(f).at[j].add(-f)
    de = 4 * jnp.sum(s6 * s6 - s6)
    ds = 4 * eps * jnp.sum(12 * s6 * s6 - 6 * s6) / sig
    return g * dr, (g * de, g * ds)


E.defvjp(_E_fwd, _E_bwd)


@jax.custom_jvp
def lambertw(x):
    """Principal branch, nan below -1/e."""

    def newton(_, w):
        e = jnp.exp(w)
        return w - (w * e - x) / (e * (w + 1))

    ok = x > -0.36787944117144233
    w = lax.fori_loop(0, 40, newton, jnp.log1p(jnp.where(ok, x, 0)))
    return jnp.where(ok, w, jnp.nan)


@lambertw.defjvp
def _lw(primals, tangents):
    w = lambertw(*primals)
    return w, tangents[0] * jnp.exp(-w) / (1 + w)


@jax.custom_jvp
def logdet(a):
    return jnp.linalg.slogdet(a)[1]


@logdet.defjvp
@jax.jit
def logdet_jvp(primals, tangents):
    (a,), (da,) = primals, tangents
    return logdet(a), jnp.trace(jnp.linalg.solve(a, da), axis1=-2, axis2=-1)


def _spd_sqrt(a):
    w, v = jnp.linalg.eigh(a)
    return (v * jnp.sqrt(w)[..., None, :]) @ T(v)


spd_sqrt = jax.custom_jvp(_spd_sqrt)


@spd_sqrt.defjvp
def _spd_sqrt_jvp(primals, tangents):
    (a,), (da,) = primals, tangents
    w, v = jnp.linalg.eigh(a)
    s = jnp.sqrt(w)
    inner = T(v) @ ((da + T(da)) / 2) @ v
    inner = inner / (s[..., :, None] + s[..., None, :])
    return (v * s[..., None, :]) @ T(v), v @ inner @ T(v)
