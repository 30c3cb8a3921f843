import jax
import jax.numpy as jnp

A = 0.055
CUT = 0.0031308


@jax.custom_vjp
def linear_to_srgb(x):
    safe = jnp.maximum(x, CUT)
    return jnp.where(x <= CUT, 12.92 * x, (1 + A) * safe ** (1 / 2.4) - A)


def fwd(x):
    return linear_to_srgb(x), x


def bwd(x, g):
    safe = jnp.maximum(x, CUT)
    hi = (1 + A) / 2.4 * safe ** (1 / 2.4 - 1)
    return (g * hi,)


linear_to_srgb.defvjp(fwd, bwd)
