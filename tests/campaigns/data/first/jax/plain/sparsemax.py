import jax
import jax.numpy as jnp


def _tau(z):
    s = -jnp.sort(-z, axis=-1)
    c = jnp.cumsum(s, axis=-1)
    k = jnp.arange(1, z.shape[-1] + 1)
    supp = jnp.sum(1 + k * s > c, axis=-1, keepdims=True)
    return (jnp.take_along_axis(c, supp - 1, axis=-1) - 1) / supp


@jax.custom_vjp
def sparsemax(z):
    return jnp.maximum(z - _tau(z), 0.0)


def sparsemax_fwd(z):
    p = sparsemax(z)
    return p, p


def sparsemax_bwd(p, g):
    on = (p > 0).astype(g.dtype)
    mean = jnp.sum(g * on, -1, keepdims=True) / p.shape[-1]
    return (on * (g - mean),)


sparsemax.defvjp(sparsemax_fwd, sparsemax_bwd)
