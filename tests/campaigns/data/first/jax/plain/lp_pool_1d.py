from functools import partial
import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def lp_pool(x, size=2, p=3):
    """(sum |x|^p)^(1/p) over non-overlapping windows on the last axis"""
    w = x.reshape(x.shape[:-1] + (-1, size))
    return jnp.sum(jnp.abs(w) ** p, -1) ** (1.0 / p)


def lp_fwd(x, size, p):
    y = lp_pool(x, size, p)
    return y, (x, y)


def lp_bwd(size, p, res, g):
    x, y = res
    w = x.reshape(x.shape[:-1] + (-1, size))
    gw = (g / y ** p)[..., None] * jnp.sign(w) * jnp.abs(w) ** (p - 1)
    return (gw.reshape(x.shape),)


lp_pool.defvjp(lp_fwd, lp_bwd)
