import functools
import math

import jax
import jax.numpy as jnp


@jax.custom_vjp
def g(p_logits, q_logits):
    """KL(p || q) between two sets of logits, last axis."""
    if p_logits.shape != q_logits.shape:
        raise ValueError("shape")
    lp = jax.nn.log_softmax(p_logits)
    lq = jax.nn.log_softmax(q_logits)
    return jnp.sum(jnp.exp(lp) * (lp - lq), axis=-1)


def _kl_fwd(p_logits, q_logits):
    lp = jax.nn.log_softmax(p_logits)
    lq = jax.nn.log_softmax(q_logits)
    kl = g(p_logits, q_logits)
    return kl, (lp, lq, kl)


def _kl_bwd(saved, ct):
    lq, lp, kl = saved
    p, q = jnp.exp(lp), jnp.exp(lq)
    ct = ct[..., None]
    return ct * p * (lp - lq - kl[..., None]), ct * (q - p)


g.defvjp(_kl_fwd, _kl_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def layer_norm(x, scale, bias, eps=1e-6):
    if scale.shape != (x.shape[-1],) or bias.shape != (x.shape[-1],):
        raise ValueError("bad scale/bias")
    mu = jnp.mean(x, -1, keepdims=True)
    xc = x - mu
    return xc / jnp.sqrt(jnp.mean(xc * xc, -1, keepdims=True) + eps) * scale + bias


def _ln_fwd(x, scale, bias, eps):
    xc = x - jnp.mean(x, -1, keepdims=True)
    rstd = 1 / jnp.sqrt(jnp.mean(xc * xc, -1, keepdims=True) + eps)
    return layer_norm(x, scale, bias, eps), (xc * rstd, rstd, scale)


def _ln_bwd(eps, res, dy):
    xhat, rstd, scale = res
    axes = tuple(range(dy.ndim - 1))
    t = dy * scale
    dx = rstd * (t - t.mean(-1, keepdims=True))
    return dx, jnp.sum(dy * xhat, axes), jnp.sum(dy, axes)


layer_norm.defvjp(_ln_fwd, _ln_bwd)


def _softmax_scores(q, k, causal):
    s = jnp.einsum("hid,hjd->hij", q, k) * (1.0 / math.sqrt(q.shape[-1]))
    if causal:
        i = jnp.arange(s.shape[-2])[:, None]
        j = jnp.arange(s.shape[-1])[None, :]
        s = jnp.where(j <= i, s, -jnp.inf)
    return jax.nn.softmax(s)


def _mha(q, k, v, causal=True):
    if q.ndim != 3 or k.ndim != 3 or v.ndim != 3:
        raise ValueError("need (heads, time, dim)")
    if k.shape[:2] != v.shape[:2] or q.shape[0] != k.shape[0] or q.shape[2] != k.shape[2]:
        raise ValueError("q, k, v do not match")
    return jnp.einsum("hij,hjd->hid", _softmax_scores(q, k, causal), v)


def _mha_fwd(q, k, v, causal):
    p = _softmax_scores(q, k, causal)
    return _mha(q, k, v, causal), (q, k, v, p)


def _mha_bwd(causal, res, do):
    q, k, v, p = res
    scale = 1.0 / math.sqrt(q.shape[-1])
    dv = jnp.einsum("hij,hid->hjd", p, do)
    dp = jnp.einsum("hid,hjd->hij", do, v)
    ds = p * (dp - jnp.sum(p * dp, -1, keepdims=True))
    dq = scale * jnp.einsum("hij,hjd->hid", ds, k)
    dk = jnp.einsum("hij,hid->hjd", ds, q)
    return dq, dk, dv


mha = jax.custom_vjp(_mha, nondiff_argnums=(3,))
mha.defvjp(_mha_fwd, _mha_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def batch_norm(x, gamma, beta, eps=1e-3):
    """y and the batch statistics, for the running averages."""
    if x.ndim != 2 or gamma.shape != x.shape[1:] or beta.shape != x.shape[1:]:
        raise ValueError("x (n, c), gamma (c,), beta (c,)")
    mean, var = x.mean(0), x.var(0)
    y = (x - mean) / jnp.sqrt(var + eps) * gamma + beta
    return {"y": y, "mean": mean, "var": var}


def _bn_fwd(x, gamma, beta, eps):
    out = batch_norm(x, gamma, beta, eps)
    rstd = 1 / jnp.sqrt(out["var"] + eps)
    return out, ((x - out["mean"]) * rstd, rstd, gamma)


def _bn_bwd(eps, res, ct):
    xhat, rstd, gamma = res
    dy = ct["y"]
    n = dy.shape[0]
    dgamma = jnp.sum(dy * xhat, 0)
    dbeta = jnp.sum(dy, 0)
    dx = gamma * rstd * (dy - dbeta / n - xhat * dgamma / n) + ct["mean"] / n
    return dx, dgamma, dbeta


batch_norm.defvjp(_bn_fwd, _bn_bwd)


@jax.custom_vjp
def softcap(x, cap):
    """cap * tanh(x / cap), Gemma style. cap is a scalar."""
    if jnp.ndim(cap):
        raise ValueError("cap must be a scalar")
    return cap * jnp.tanh(x / cap)


def softcap_fwd(x, cap):
    t = jnp.tanh(x / cap)
    return cap * t, t


def softcap_bwd(t, dy):
    return dy * (1 - t * t), None


softcap.defvjp(softcap_fwd, softcap_bwd)


def make_rope(base):
    def angles(x, pos):
        half = x.shape[-1] // 2
        inv = base ** (-jnp.arange(half).astype(x.dtype) / half)
        return pos.astype(x.dtype)[:, None] * inv

    def turn(x, a):
        c, s = jnp.cos(a), jnp.sin(a)
        u, v = x[..., 0::2], x[..., 1::2]
        return jnp.stack([u * c - v * s, u * s + v * c], -1).reshape(x.shape)

    @jax.custom_vjp
    def rope(x, pos):
        """Interleaved rotary embedding; x (time, dim), pos (time,) ints."""
        if x.ndim != 2 or x.shape[1] % 2 or pos.shape != x.shape[:1]:
            raise ValueError("x (time, even dim), pos (time,)")
        if not jnp.issubdtype(pos.dtype, jnp.integer):
            raise TypeError("pos must be integers")
        return turn(x, angles(x, pos))

    def fwd(x, pos):
        return rope(x, pos), pos

    def bwd(pos, g):
        return turn(g, angles(g, pos)), None

    rope.defvjp(fwd, bwd)
    return rope


rope = make_rope(10000.0)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def avg_pool2d(x, k=2):
    """Non overlapping k x k average pooling over the last two axes."""
    hh, ww = x.shape[-2:]
    if hh % k or ww % k:
        raise ValueError("size must be a multiple of k")
    return x.reshape(x.shape[:-2] + (hh // k, k, ww // k, k)).mean((-3, -1))


def _ap_fwd(x, k):
    return avg_pool2d(x, k), None


def _ap_bwd(k, _, ct):
    return (jnp.repeat(jnp.repeat(ct, k, -2), k, -1) / k,)


avg_pool2d.defvjp(_ap_fwd, _ap_bwd)


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def logsumexp(x, axis=0):
    m = jax.lax.stop_gradient(jnp.max(x, axis=axis, keepdims=True))
    s = jnp.sum(jnp.exp(x - m), axis=axis, keepdims=True)
    return jnp.squeeze(m + jnp.log(s), axis=axis)


@logsumexp.defjvp
def logsumexp_jvp(axis, primals, tangents):
    (x,), (dx,) = primals, tangents
    return logsumexp(x, axis), jnp.sum(jax.nn.softmax(x) * dx, axis=axis)
