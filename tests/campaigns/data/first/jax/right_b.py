import functools
import math

import jax
from jax import numpy as jnp


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def layer_norm(x, scale, bias, eps=1e-5):
    """LayerNorm over the last axis. scale and bias are (features,)."""
    if scale.shape != x.shape[-1:] or bias.shape != x.shape[-1:]:
        raise ValueError("scale/bias must be (features,)")
    mu = x.mean(-1, keepdims=True)
    var = jnp.square(x - mu).mean(-1, keepdims=True)
    return (x - mu) * jax.lax.rsqrt(var + eps) * scale + bias


def _ln_fwd(x, scale, bias, eps):
    mu = x.mean(-1, keepdims=True)
    rstd = jax.lax.rsqrt(jnp.square(x - mu).mean(-1, keepdims=True) + eps)
    return layer_norm(x, scale, bias, eps), (x, mu, rstd, scale)


def _ln_bwd(eps, res, dy):
    x, mu, rstd, scale = res
    xhat = (x - mu) * rstd
    lead = tuple(range(dy.ndim - 1))
    dxhat = dy * scale
    dx = rstd * (
        dxhat
        - dxhat.mean(-1, keepdims=True)
        - xhat * (dxhat * xhat).mean(-1, keepdims=True)
    )
    return dx, (dy * xhat).sum(lead), dy.sum(lead)


layer_norm.defvjp(_ln_fwd, _ln_bwd)


@jax.custom_vjp
def rms_norm(params, x):
    """params: {"w": (d,)}; x: (..., d)."""
    w = params["w"]
    if w.shape != x.shape[-1:]:
        raise ValueError(f"w has shape {w.shape}, x {x.shape}")
    ms = jnp.mean(x * x, axis=-1, keepdims=True)
    return x / jnp.sqrt(ms + 1e-6) * w


def rms_fwd(params, x):
    r = 1.0 / jnp.sqrt(jnp.mean(x * x, axis=-1, keepdims=True) + 1e-6)
    return rms_norm(params, x), (params["w"], x, r)


def rms_bwd(saved, ct):
    w, x, r = saved
    n = x * r
    u = ct * w
    dx = r * (u - n * jnp.mean(u * n, axis=-1, keepdims=True))
    dw = (ct * n).reshape(-1, w.shape[0]).sum(0)
    return {"w": dw}, dx


rms_norm.defvjp(rms_fwd, rms_bwd)


def _unit(x, axis, eps):
    return x / jnp.sqrt(jnp.sum(x * x, axis=axis, keepdims=True) + eps)


def _unit_fwd(x, axis, eps):
    n = jnp.sqrt(jnp.sum(x * x, axis=axis, keepdims=True) + eps)
    y = x / n
    return y, (y, n)


def _unit_bwd(axis, eps, res, g):
    y, n = res
    return ((g - y * jnp.sum(g * y, axis=axis, keepdims=True)) / n,)


unit = jax.custom_vjp(_unit, nondiff_argnums=(1, 2))
unit.defvjp(_unit_fwd, _unit_bwd)


def _probs(q, k, causal):
    s = jnp.einsum("hqd,hkd->hqk", q, k) / math.sqrt(q.shape[-1])
    if causal:
        keep = jnp.tril(jnp.ones(s.shape[-2:], dtype=bool))
        s = jnp.where(keep, s, -jnp.inf)
    return jax.nn.softmax(s, axis=-1)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def attention(q, k, v, causal=False):
    """(heads, time, dim) attention; recomputes nothing but the scores."""
    if not (q.ndim == k.ndim == v.ndim == 3):
        raise ValueError("q, k, v must be (heads, time, dim)")
    if q.shape[0] != k.shape[0] or q.shape[2] != k.shape[2] or k.shape[:2] != v.shape[:2]:
        raise ValueError("incompatible q, k, v")
    return jnp.einsum("hqk,hkd->hqd", _probs(q, k, causal), v)


def _attn_fwd(q, k, v, causal):
    out = attention(q, k, v, causal)
    return out, (q, k, v, out)


def _attn_bwd(causal, res, do):
    q, k, v, out = res
    p = _probs(q, k, causal)
    dv = jnp.einsum("hqk,hqd->hkd", p, do)
    dp = jnp.einsum("hqd,hkd->hqk", do, v)
    delta = jnp.sum(do * out, axis=-1, keepdims=True)
    ds = p * (dp - delta) / math.sqrt(q.shape[-1])
    dq = jnp.einsum("hqk,hkd->hqd", ds, k)
    dk = jnp.einsum("hqk,hqd->hkd", ds, q)
    return dq, dk, dv


attention.defvjp(_attn_fwd, _attn_bwd)


def _rotate(x, cos, sin):
    x1, x2 = jnp.split(x, 2, axis=-1)
    return jnp.concatenate([x1 * cos - x2 * sin, x2 * cos + x1 * sin], axis=-1)


@jax.custom_vjp
def apply_rotary(x, cos, sin):
    """Half-split RoPE. x (time, dim); cos, sin are the (time, dim/2) tables."""
    half = x.shape[:-1] + (x.shape[-1] // 2,)
    if cos.shape != half or sin.shape != half:
        raise ValueError("bad table shape")
    return _rotate(x, cos, sin)


apply_rotary.defvjp(
    lambda x, cos, sin: (apply_rotary(x, cos, sin), (cos, sin)),
    lambda res, g: (_rotate(g, res[0], -res[1]), None, None),
)


def _masked(x, mask):
    m = jnp.where(mask, x, -jnp.inf)
    top = jnp.max(m, axis=-1, keepdims=True)
    e = jnp.exp(m - jnp.where(jnp.isfinite(top), top, 0.0))
    z = e.sum(-1, keepdims=True)
    return e / jnp.where(z == 0, 1.0, z)


@jax.custom_vjp
def h(x, mask):
    """softmax(x) over the last axis where mask holds; empty rows give zeros."""
    return _masked(x, mask)


def _h_fwd(x, mask):
    p = _masked(x, mask)
    return p, (p, x)


def _h_bwd(res, g):
    p, x = res
    d = p * (g - (g * p).sum(-1, keepdims=True))
    for _ in range(d.ndim - x.ndim):
        d = d.sum(0)
    for i, n in enumerate(x.shape):
        if n != d.shape[i]:
            d = d.sum(i, keepdims=True)
    return d, None


h.defvjp(_h_fwd, _h_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def batch_norm_train(x, gamma, beta, eps=1e-3):
    """Returns (y, batch_mean, batch_var) for x (batch, channels)."""
    if x.ndim != 2 or gamma.shape != x.shape[1:] or beta.shape != x.shape[1:]:
        raise ValueError("x (n, c), gamma (c,), beta (c,)")
    mean = x.mean(0)
    var = x.var(0)
    return gamma * (x - mean) / jnp.sqrt(var + eps) + beta, mean, var


def _bn_fwd(x, gamma, beta, eps):
    out = batch_norm_train(x, gamma, beta, eps)
    _, mean, var = out
    return out, (x - mean, 1 / jnp.sqrt(var + eps), gamma)


def _bn_bwd(eps, res, cts):
    xc, inv, gamma = res
    gy, gmean, gvar = cts
    n = xc.shape[0]
    xhat = xc * inv
    dgamma = (gy * xhat).sum(0)
    dbeta = gy.sum(0)
    dx = gamma * inv / n * (n * gy - dbeta - xhat * dgamma)
    dx = dx + gmean / n + 2.0 * xc * gvar / n
    return dx, dgamma, dbeta


batch_norm_train.defvjp(_bn_fwd, _bn_bwd)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def safe_norm(x, axis=-1):
    return jnp.sqrt(jnp.sum(jnp.square(x), axis=axis))


@safe_norm.defjvp
def safe_norm_jvp(axis, primals, tangents):
    (x,), (dx,) = primals, tangents
    n = safe_norm(x, axis)
    dot = jnp.sum(x * dx, axis=axis)
    zero = n == 0
    return n, jnp.where(zero, 0.0, dot / jnp.where(zero, 1.0, n))
