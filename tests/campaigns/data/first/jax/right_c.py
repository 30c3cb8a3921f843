"""Gather / scatter / scans / signal bits used by the sequence models."""
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax


@jax.custom_vjp
def embed(table, ids):
    ids = jnp.clip(ids, 0, table.shape[0] - 1)
    return table[ids]


def _embed_fwd(table, ids):
    return embed(table, ids), (ids, table.shape[0])


def _embed_bwd(res, g):
    ids, n = res
    ids = jnp.clip(ids, 0, n - 1)
    width = g.shape[ids.ndim:]
    grad = jnp.zeros((n,) + width, g.dtype).at[ids].add(g)
    return grad, None


embed.defvjp(_embed_fwd, _embed_bwd)


def _counts(ids, n, dtype):
    ok = (ids >= 0) & (ids < n)
    safe = jnp.where(ok, ids, n)
    c = jnp.zeros(n, dtype).at[safe].add(1, mode="drop")
    return safe, ok, jnp.maximum(c, 1)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def scatter_sum(data, ids, n):
    """Pool rows of `data` into n buckets, averaged (empty buckets are 0)."""
    if ids.shape != data.shape[:1]:
        raise ValueError("one id per row")
    safe, _, c = _counts(ids, n, data.dtype)
    s = jnp.zeros((n,) + data.shape[1:], data.dtype).at[safe].add(data, mode="drop")
    return s / c.reshape((n,) + (1,) * (data.ndim - 1))


def _ss_fwd(data, ids, n):
    return scatter_sum(data, ids, n), ids


def _ss_bwd(n, ids, g):
    safe, ok, c = _counts(ids, n, g.dtype)
    tail = (1,) * (g.ndim - 1)
    g = g / c.reshape((n,) + tail)
    rows = g[jnp.where(ok, safe, 0)]
    return jnp.where(ok.reshape(ok.shape + tail), rows, 0), None


scatter_sum.defvjp(_ss_fwd, _ss_bwd)


def max_pool1d(x, k):
    n = x.shape[-1] // k
    if n == 0:
        raise ValueError("window longer than the signal")
    return x[..., : n * k].reshape(x.shape[:-1] + (n, k)).max(-1)


def _mp_fwd(x, k):
    n = x.shape[-1] // k
    w = x[..., : n * k].reshape(x.shape[:-1] + (n, k))
    return max_pool1d(x, k), (jnp.argmax(w, -1), x.shape[-1] - n * k)


def _mp_bwd(k, res, g):
    idx, rest = res
    hot = jax.nn.one_hot(idx, k, dtype=g.dtype) * g[..., None]
    flat = hot.reshape(g.shape[:-1] + (-1,))
    pad = [(0, 0)] * (flat.ndim - 1) + [(0, rest)]
    return (jnp.pad(flat, pad),)


max_pool1d = jax.custom_vjp(max_pool1d, nondiff_argnums=(1,))
max_pool1d.defvjp(_mp_fwd, _mp_bwd)


@jax.custom_vjp
def linear_scan(a, b, h0):
    """h[t] = a[t] * h[t-1] + b[t]. Returns all h and the last one."""
    if a.shape != b.shape or h0.shape != a.shape[1:]:
        raise ValueError("a, b: (T, ...), h0: (...)")

    def step(h, ab):
        h = ab[0] * h + ab[1]
        return h, h

    last, hs = lax.scan(step, h0, (a, b))
    return hs, last


def _ls_fwd(a, b, h0):
    hs, last = linear_scan(a, b, h0)
    return (hs, last), (a, h0, hs)


def _ls_bwd(res, cts):
    a, h0, hs = res
    ghs, glast = cts
    prev = jnp.concatenate([h0[None], hs[:-1]], axis=0)

    def back(lam, inp):
        at, pt, gt = inp
        lam = lam + gt
        return at * lam, (lam * pt, lam)

    dh0, (da, db) = lax.scan(back, glast, (a, prev, ghs), reverse=True)
    return da, db, dh0


linear_scan.defvjp(_ls_fwd, _ls_bwd)


@jax.custom_vjp
def power_spectrum(x):
    """|rfft(x)|^2 / n along the last axis."""
    X = jnp.fft.rfft(x)
    return (X.real**2 + X.imag**2) / x.shape[-1]


def _ps_fwd(x):
    X = jnp.fft.rfft(x)
    return (X.real**2 + X.imag**2) / x.shape[-1], (X, x.shape[-1])


def _ps_bwd(res, g):
    X, n = res
    pad = [(0, 0)] * (X.ndim - 1) + [(0, n - X.shape[-1])]
    full = jnp.pad(g * X, pad)
    return (2.0 * jnp.fft.ifft(full).real,)


power_spectrum.defvjp(_ps_fwd, _ps_bwd)


@jax.custom_vjp
def mahalanobis(x, M, y):
    """x^T M y for batches of x (..., n) and y (..., m)."""
    if x.shape[:-1] != y.shape[:-1] or M.shape != (x.shape[-1], y.shape[-1]):
        raise ValueError("shape mismatch")
    return jnp.einsum("...i,ij,...j->...", x, M, y)


def _mh_fwd(x, M, y):
    return mahalanobis(x, M, y), (x, M, y)


def _mh_bwd(res, g):
    x, M, y = res
    gx = g[..., None] * (y @ M.T)
    gy = g[..., None] * (x @ M)
    xs = (g[..., None] * x).reshape(-1, x.shape[-1])
    gM = xs.T @ y.reshape(-1, y.shape[-1])
    return gx, gM, gy


mahalanobis.defvjp(_mh_fwd, _mh_bwd)


@jax.custom_jvp
def sinc(x):
    """sin(x)/x (unnormalised)."""
    small = jnp.abs(x) < 1e-2
    xs = jnp.where(small, 1.0, x)
    x2 = x * x
    return jnp.where(small, 1 - x2 / 6 + x2 * x2 / 120, jnp.sin(xs) / xs)


@sinc.defjvp
def _(primals, tangents):
    (x,), (t,) = primals, tangents
    small = jnp.abs(x) < 1e-2
    xs = jnp.where(small, 1.0, x)
    far = (jnp.cos(xs) - jnp.sin(xs) / xs) / xs
    near = -x / 3 + x**3 / 30
    return sinc(x), t * jnp.where(small, near, far)


LOG2 = float(np.log(2.0))


def _log1mexp(x):
    return jnp.where(x < LOG2, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


log1mexp = jax.custom_jvp(_log1mexp)
log1mexp.defjvps(lambda t, ans, x: t / jnp.expm1(x))
