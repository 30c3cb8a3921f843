from functools import partial

import jax
import jax.numpy as jnp


@jax.custom_jvp
def mish(x):
    return x * jnp.tanh(jax.nn.softplus(x))


@mish.defjvp
def _(primals, tangents):
    (x,), (dx,) = primals, tangents
    t = jnp.tanh(jax.nn.softplus(x))
    return x * t, dx * (t + x * (1 - t**2) * jax.nn.sigmoid(x))


@jax.custom_jvp
def swish_beta(x, beta):
    return x * jax.nn.sigmoid(beta * x)


@swish_beta.defjvp
def _(primals, tangents):
    x, beta = primals
    dx, db = tangents
    s = jax.nn.sigmoid(beta * x)
    d = s * (1 - s)
    return x * s, (s + beta * x * d) * dx + x * d * db


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def glu(x, axis=-1):
    a, b = jnp.split(x, 2, axis)
    return a * jax.nn.sigmoid(b)


def glu_fwd(x, axis):
    return glu(x, axis), x


def glu_bwd(axis, x, g):
    a, b = jnp.split(x, 2, axis)
    s = jax.nn.sigmoid(b)
    return (jnp.concatenate([g * s, g * a * s * (1 - s)], axis),)


glu.defvjp(glu_fwd, glu_bwd)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def siren(x, phase, w0=30.0):
    return jnp.sin(w0 * x + phase)


@siren.defjvp
def siren_jvp(w0, primals, tangents):
    x, phase = primals
    dx, dp = tangents
    a = w0 * x + phase
    return jnp.sin(a), jnp.cos(a) * (w0 * dx + dp)


@jax.custom_vjp
def hard_swish(x):
    return x * jnp.clip(x + 3, 0, 6) / 6


def hs_fwd(x):
    return hard_swish(x), x


def hs_bwd(x, g):
    return (g * jnp.where(x < -3, 0.0, jnp.where(x < 6, (2 * x + 3) / 6, 1.0)),)


hard_swish.defvjp(hs_fwd, hs_bwd)


@jax.custom_vjp
def bias_gelu(x, b):
    """Exact gelu of x + b, b along the last axis."""
    return jax.nn.gelu(x + b, approximate=False)


def bg_fwd(x, b):
    return bias_gelu(x, b), (x, b)


def bg_bwd(res, g):
    x, b = res
    u = x + b
    cdf = 0.5 * (1 + jax.lax.erf(u * 0.7071067811865476))
    pdf = jnp.exp(-0.5 * u * u) * 0.3989422804014327
    du = g * (cdf + u * pdf)
    return du, du.reshape(-1, u.shape[-1]).sum(0)


bias_gelu.defvjp(bg_fwd, bg_bwd)
