from functools import partial

import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_vjp
def linear_attention(q, k, v):
    if q.ndim != 2 or k.ndim != 2 or v.ndim != 2:
        raise ValueError("expected matrices")
    return q @ (k.T @ v)


def la_fwd(q, k, v):
    return linear_attention(q, k, v), (q, k, v)


def la_bwd(res, g):
    q, k, v = res
    s = q.T @ g
    return g @ (v.T @ k), v @ s.T, k @ s


linear_attention.defvjp(la_fwd, la_bwd)


@jax.custom_vjp
def sigmoid_attention(q, k, v):
    if q.ndim != 2 or k.ndim != 2 or v.ndim != 2 or q.shape[1] != k.shape[1] or k.shape[0] != v.shape[0]:
        raise ValueError("expected q (L, D), k (M, D), v (M, E)")
    a = jax.nn.sigmoid(q @ k.T / jnp.sqrt(q.shape[1]))
    return a @ v


def sa_fwd(q, k, v):
    return sigmoid_attention(q, k, v), (q, k, v)


def sa_bwd(res, g):
    q, k, v = res
    scale = 1 / jnp.sqrt(q.shape[1])
    a = jax.nn.sigmoid(q @ k.T * scale)
    ds = (g @ v.T) * a * (1 - a)
    return ds @ k * scale, ds.T @ q, a.T @ g


sigmoid_attention.defvjp(sa_fwd, sa_bwd)


@jax.custom_vjp
def gained_rms(x, gain):
    if x.ndim < 1 or gain.ndim:
        raise ValueError("expected x (..., D) and one number")
    return gain * x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def gr_fwd(x, gain):
    return gained_rms(x, gain), (x, gain)


def gr_bwd(res, g):
    x, gain = res
    r = jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    y = x / r
    return gain * (g - y * (g * y).mean(-1, keepdims=True)) / r, (g * y).sum()


gained_rms.defvjp(gr_fwd, gr_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def layer_norm(x, gain, bias, eps=1e-5):
    if x.ndim < 1 or gain.shape != x.shape[-1:] or bias.shape != gain.shape:
        raise ValueError("gain and bias have the size of the last axis")
    mu = x.mean(-1, keepdims=True)
    return (x - mu) * lax.rsqrt(((x - mu) ** 2).mean(-1, keepdims=True) + eps) * gain + bias


def ln_fwd(x, gain, bias, eps):
    return layer_norm(x, gain, bias, eps), (x, gain)


def ln_bwd(eps, res, g):
    x, gain = res
    mu = x.mean(-1, keepdims=True)
    inv = lax.rsqrt(((x - mu) ** 2).mean(-1, keepdims=True) + eps)
    xh = (x - mu) * inv
    lead = tuple(range(x.ndim - 1))
    gg = g * gain
    dx = inv * (gg - gg.mean(-1, keepdims=True) - xh * (gg * xh).mean(-1, keepdims=True))
    return dx, (g * xh).sum(lead), g.sum(lead)


layer_norm.defvjp(ln_fwd, ln_bwd)


@jax.custom_vjp
def batch_standard(x):
    if x.ndim != 2 or x.shape[0] < 2:
        raise ValueError("expected (N, D) with N > 1")
    d = x - x.mean(0)
    return d / jnp.sqrt((d * d).sum(0) / (x.shape[0] - 1) + 1e-5)


def bs_fwd(x):
    d = x - x.mean(0)
    s = jnp.sqrt((d * d).sum(0) / (x.shape[0] - 1) + 1e-5)
    return batch_standard(x), (d / s, s)


def bs_bwd(res, g):
    y, s = res
    return ((g - g.mean(0) - y * (g * y).mean(0)) / s,)


batch_standard.defvjp(bs_fwd, bs_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def band_softmax(s, window=1):
    if s.ndim != 2 or s.shape[0] != s.shape[1] or window < 0:
        raise ValueError("expected square scores")
    i = jnp.arange(s.shape[0])
    near = jnp.abs(i[:, None] - i[None, :]) <= window
    return jax.nn.softmax(jnp.where(near, s, -jnp.inf), axis=-1)


def band_fwd(s, window):
    y = band_softmax(s, window)
    return y, y


def band_bwd(window, y, g):
    return (y * (g - (g * y).sum(0, keepdims=True)),)


band_softmax.defvjp(band_fwd, band_bwd)


@jax.custom_vjp
def gru_mix(h, a, b):
    if not h.shape == a.shape == b.shape:
        raise ValueError("shapes differ")
    z = jax.nn.sigmoid(a)
    return (1 - z) * h + z * jnp.tanh(b)


def gru_fwd(h, a, b):
    return gru_mix(h, a, b), (h, a, b)


def gru_bwd(res, g):
    h, a, b = res
    z, n = jax.nn.sigmoid(a), jnp.tanh(b)
    return g * (1 - z), g * (h - n) * z * (1 - z), g * z * (1 - n * n)


gru_mix.defvjp(gru_fwd, gru_bwd)


def _decay(k, v, w):
    d = jnp.exp(-w)

    def step(s, kv):
        s = d * s + kv
        return s, s

    return lax.scan(step, jnp.zeros(k.shape[1:], k.dtype), k * v)[1]


@jax.custom_vjp
def decay_scan(k, v, w):
    if k.ndim != 2 or k.shape != v.shape or w.shape != k.shape[1:]:
        raise ValueError("expected k (T, D), v (T, D), w (D,)")
    return _decay(k, v, w)


def decay_fwd(k, v, w):
    return decay_scan(k, v, w), (k, v, w)


def decay_bwd(res, g):
    k, v, w = res
    d = jnp.exp(-w)
    s = _decay(k, v, w)

    def step(c, gt):
        c = d * c + gt
        return c, c

    c = lax.scan(step, jnp.zeros(w.shape, w.dtype), g, reverse=True)[1]
    prev = jnp.concatenate([jnp.zeros((1,) + w.shape, w.dtype), s[:-1]])
    return c * v, c * k, -d * (c * prev[:c.shape[0]]).sum(0)


decay_scan.defvjp(decay_fwd, decay_bwd)


@jax.custom_vjp
def running_lse(x):
    if x.ndim != 1 or x.shape[0] < 1:
        raise ValueError("expected a series")
    low = jnp.tril(jnp.ones((x.shape[0],) * 2, bool))
    return jax.nn.logsumexp(jnp.where(low, x[None, :], -jnp.inf), axis=1)


def rl_fwd(x):
    y = running_lse(x)
    return y, (x, y)


def rl_bwd(res, g):
    x, y = res
    low = jnp.tril(jnp.ones((x.shape[0],) * 2, bool))
    p = jnp.exp(jnp.where(low, x[None, :] - y[:, None], -jnp.inf))
    return (g @ p,)


running_lse.defvjp(rl_fwd, rl_bwd)


@jax.custom_vjp
def gated_scan(a, b, c):
    if a.ndim != 2 or a.shape != b.shape or a.shape != c.shape:
        raise ValueError("expected three arrays (T, D)")

    def step(h, abc):
        h = abc[0] * h + abc[1]
        return h, abc[2] * h

    return lax.scan(step, jnp.zeros(a.shape[1:], a.dtype), (a, b, c))[1]


def gs_fwd(a, b, c):
    def step(h, ab):
        h = ab[0] * h + ab[1]
        return h, h

    h = lax.scan(step, jnp.zeros(a.shape[1:], a.dtype), (a, b))[1]
    return gated_scan(a, b, c), (a, c, h)


def gs_bwd(res, g):
    a, c, h = res

    def step(m, agc):
        m = agc[0] * m + agc[1]
        return m, m

    m = lax.scan(step, jnp.zeros(a.shape[1:], a.dtype), (a, g * c), reverse=True)[1]
    prev = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])
    return m * prev, m, g * h


gated_scan.defvjp(gs_fwd, gs_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def topk_gate(logits, k=2):
    if logits.ndim != 2 or not 1 <= k <= logits.shape[1]:
        raise ValueError("k out of range")
    v, i = lax.top_k(logits, k)
    p = jax.nn.softmax(v, axis=-1)
    return jnp.zeros_like(logits).at[jnp.arange(logits.shape[0])[:, None], i].set(p)


def tg_fwd(logits, k):
    y = topk_gate(logits, k)
    return y, y


def tg_bwd(k, y, g):
    return (y * (g - (g * y).sum(-1, keepdims=True)),)


topk_gate.defvjp(tg_fwd, tg_bwd)
