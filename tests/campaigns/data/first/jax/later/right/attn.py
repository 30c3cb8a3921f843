from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def softmax1(x, axis=-1):
    """exp(x) / (1 + sum exp(x)): attention that may attend to nothing."""
    m = jnp.maximum(jnp.max(x, axis, keepdims=True), 0)
    e = jnp.exp(x - m)
    return e / (jnp.exp(-m) + e.sum(axis, keepdims=True))


def _s1_fwd(x, axis):
    p = softmax1(x, axis)
    return p, p


def _s1_bwd(axis, p, g):
    return (p * (g - (p * g).sum(axis, keepdims=True)),)


softmax1.defvjp(_s1_fwd, _s1_bwd)


@jax.custom_vjp
def linear_attention(q, k, v):
    """o[t] = q[t] . sum_{s <= t} k[s] v[s]^T."""
    s = jnp.cumsum(k[:, :, None] * v[:, None, :], 0)
    return jnp.einsum("td,tde->te", q, s)


def _la_fwd(q, k, v):
    return linear_attention(q, k, v), (q, k, v)


def _la_bwd(res, do):
    q, k, v = res
    s = jnp.cumsum(k[:, :, None] * v[:, None, :], 0)
    dq = jnp.einsum("te,tde->td", do, s)
    ds = jnp.cumsum((q[:, :, None] * do[:, None, :])[::-1], 0)[::-1]
    return dq, jnp.einsum("tde,te->td", ds, v), jnp.einsum("tde,td->te", ds, k)


linear_attention.defvjp(_la_fwd, _la_bwd)


@jax.custom_vjp
def qk_norm(q, k, scale):
    """Scores of l2-normalised queries and keys, with one learned scale."""
    qn = q / jnp.linalg.norm(q, axis=-1, keepdims=True)
    kn = k / jnp.linalg.norm(k, axis=-1, keepdims=True)
    return scale * qn @ kn.T


def _qk_fwd(q, k, scale):
    nq = jnp.linalg.norm(q, axis=-1, keepdims=True)
    nk = jnp.linalg.norm(k, axis=-1, keepdims=True)
    qn, kn = q / nq, k / nk
    c = qn @ kn.T
    return scale * c, (qn, kn, nq, nk, c, scale)


def _qk_bwd(res, g):
    qn, kn, nq, nk, c, scale = res
    gq = scale * g @ kn
    gk = scale * g.T @ qn
    dq = (gq - qn * (gq * qn).sum(-1, keepdims=True)) / nq
    dk = (gk - kn * (gk * kn).sum(-1, keepdims=True)) / nk
    return dq, dk, (g * c).sum()


qk_norm.defvjp(_qk_fwd, _qk_bwd)


@jax.custom_vjp
def sparsemax(z):
    """Projection of the last axis onto the simplex."""
    return _sm(z)[0]


def _sm(z):
    s = -jnp.sort(-z, -1)
    k = jnp.arange(1, z.shape[-1] + 1)
    c = jnp.cumsum(s, -1) - 1
    n = (s * k > c).sum(-1, keepdims=True)
    tau = jnp.take_along_axis(c, n - 1, -1) / n
    p = jnp.maximum(z - tau, 0)
    return p, p > 0


def _sm_bwd(keep, g):
    mean = jnp.where(keep, g, 0).sum(-1, keepdims=True) / keep.sum(-1, keepdims=True)
    return (jnp.where(keep, g - mean, 0),)


sparsemax.defvjp(_sm, _sm_bwd)


@jax.custom_vjp
def gated_rms(x, z, w):
    """rmsnorm(x * silu(z)) * w, the output norm of Mamba-2."""
    u = x * jax.nn.silu(z)
    return u * jax.lax.rsqrt(jnp.mean(u * u, -1, keepdims=True) + 1e-5) * w


def _gr_fwd(x, z, w):
    return gated_rms(x, z, w), (x, z, w)


def _gr_bwd(res, g):
    x, z, w = res
    s = jax.nn.sigmoid(z)
    u = x * z * s
    r = jax.lax.rsqrt(jnp.mean(u * u, -1, keepdims=True) + 1e-5)
    h = u * r
    gw = g * w
    du = r * (gw - h * jnp.mean(gw * h, -1, keepdims=True))
    return du * z * s, du * x * s * (1 + z * (1 - s)), (g * h).reshape(-1, w.shape[-1]).sum(0)


gated_rms.defvjp(_gr_fwd, _gr_bwd)
