from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.special import erf


@jax.custom_jvp
def mish(x):
    return x * jnp.tanh(jax.nn.softplus(x))


@mish.defjvp
def mish_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    t = jnp.tanh(jax.nn.softplus(x))
    return x * t, dx * (t + x * (1 - t * t) * jax.nn.sigmoid(x))


@jax.custom_jvp
def serf(x):
    return x * erf(jax.nn.softplus(x))


@serf.defjvp
def serf_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    s = jax.nn.softplus(x)
    return x * erf(s), dx * (erf(s) + x * 2 / jnp.sqrt(jnp.pi) * jnp.exp(-s * s))


@partial(jax.custom_jvp, nondiff_argnums=(1, 2))
def aria(x, a=1.5, b=1.0):
    return x * jnp.exp(-a * jax.nn.softplus(-b * x))


@aria.defjvp
def aria_jvp(a, b, primals, tangents):
    (x,), (dx,) = primals, tangents
    s = jnp.exp(-a * jax.nn.softplus(-b * x))
    return x * s, dx * s * (1 + a * b * x * jax.nn.sigmoid(-b * x))


@jax.custom_vjp
def channel_leaky(x, slope):
    if x.ndim != 2 or slope.shape != x.shape[1:]:
        raise ValueError("expected x (N, C) and slope (C,)")
    return jnp.where(x > 0, x, slope * x)


def channel_leaky_fwd(x, slope):
    return channel_leaky(x, slope), (x, slope)


def channel_leaky_bwd(res, g):
    x, slope = res
    neg = jnp.where(x > 0, 0.0, x) * g
    return jnp.where(x > 0, g, slope * g), jnp.broadcast_to(neg.sum(), slope.shape)


channel_leaky.defvjp(channel_leaky_fwd, channel_leaky_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def triangle_wave(x, period=2.0):
    u = x / period - jnp.floor(x / period)
    return 4 * jnp.abs(u - 0.5) - 1


def triangle_wave_fwd(x, period):
    return triangle_wave(x, period), x


def triangle_wave_bwd(period, x, g):
    u = x / period - jnp.floor(x / period)
    return (4 * g * jnp.sign(u - 0.5) / period,)


triangle_wave.defvjp(triangle_wave_fwd, triangle_wave_bwd)


@jax.custom_jvp
def log1mexp(x):
    return jnp.where(x < 0.6931471805599453, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


@log1mexp.defjvp
def log1mexp_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return log1mexp(x), dx / jnp.expm1(x)


@jax.custom_vjp
def soft_clip(x, lo, hi):
    if lo.ndim or hi.ndim:
        raise ValueError("lo and hi are single numbers")
    return lo + jax.nn.softplus(x - lo) - jax.nn.softplus(x - hi)


def soft_clip_fwd(x, lo, hi):
    return soft_clip(x, lo, hi), (x, lo, hi)


def soft_clip_bwd(res, g):
    x, lo, hi = res
    a, b = jax.nn.sigmoid(x - lo), jax.nn.sigmoid(x - hi)
    return g * (a - b), (-g * a).sum(), (g * b).sum()


soft_clip.defvjp(soft_clip_fwd, soft_clip_bwd)


@jax.custom_jvp
def cube_root(x):
    return jnp.cbrt(x)


@cube_root.defjvp
def cube_root_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    y = jnp.cbrt(x)
    return y, dx / (3 * y * y)


@jax.custom_jvp
def signed_power(x, p):
    if x.shape != p.shape:
        raise ValueError("shapes differ")
    return jnp.sign(x) * jnp.exp(p * jnp.log(jnp.abs(x)))


@signed_power.defjvp
def signed_power_jvp(primals, tangents):
    x, p = primals
    dx, dp = tangents
    m = jnp.exp(p * jnp.log(jnp.abs(x)))
    return jnp.sign(x) * m, p * m / jnp.abs(x) * dx + m * jnp.log(jnp.abs(x)) * dp


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def biweight(x, c=3.0):
    u = jnp.clip(1 - (x / c) ** 2, 0.0, None)
    return u * u


def biweight_fwd(x, c):
    return biweight(x, c), x


def biweight_bwd(c, x, g):
    return (-4 * g * x / c ** 2 * (1 - (x / c) ** 2),)


biweight.defvjp(biweight_fwd, biweight_bwd)


def _exprel(x):
    small = jnp.abs(x) < 0.02
    s = jnp.where(small, 1.0, x)
    return jnp.where(small, 1 + x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5 * (1 + x / 6 * (1 + x / 7))))), jnp.expm1(s) / s)


@jax.custom_jvp
def exprel(x):
    return _exprel(x)


@exprel.defjvp
def exprel_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    small = jnp.abs(x) < 0.02
    s = jnp.where(small, 1.0, x)
    big = (jnp.exp(s) - jnp.expm1(s) / s) / s
    ser = 1 / 2 + x / 3 + x ** 2 / 8 + x ** 3 / 30 + x ** 4 / 144 + x ** 5 / 840 + x ** 6 / 5760
    return _exprel(x), dx * jnp.where(small, ser, big)
