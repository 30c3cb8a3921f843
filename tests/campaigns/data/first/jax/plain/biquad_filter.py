import jax
import jax.numpy as jnp
from jax import lax


def _all_pole(x, a):
    def step(c, xt):
        y = xt - a[0] * c[0] - a[1] * c[1]
        return (y, c[0]), y
    z = jnp.zeros((), x.dtype)
    return lax.scan(step, (z, z), x)[1]


def _delay(x, k):
    return jnp.concatenate([jnp.zeros(k, x.dtype), x[:x.shape[0] - k]])


@jax.custom_vjp
def biquad(x, b, a):
    """y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2]"""
    return _all_pole(sum(b[k] * _delay(x, k) for k in range(3)), a)


def biquad_fwd(x, b, a):
    y = biquad(x, b, a)
    return y, (x, b, a, y)


def biquad_bwd(res, g):
    x, b, a, y = res
    w = _all_pole(g[::-1], a)[::-1]
    wr = w[::-1]
    gx = sum(b[k] * _delay(wr, k)[::-1] for k in range(3))
    gb = jnp.stack([w @ _delay(x, k) for k in range(3)])
    ga = jnp.stack([-(w @ _delay(y, k)) for k in (1, 2)])
    return gx, gb, ga


biquad.defvjp(biquad_fwd, biquad_bwd)
