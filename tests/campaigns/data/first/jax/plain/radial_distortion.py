import jax
import jax.numpy as jnp


@jax.custom_vjp
def distort(xy, k):
    """Brown radial model: xy * (1 + k1 r^2 + k2 r^4)"""
    r2 = jnp.sum(xy ** 2, -1, keepdims=True)
    return xy * (1 + k[0] * r2 + k[1] * r2 ** 2)


def _fwd(xy, k):
    return distort(xy, k), (xy, k)


def _bwd(res, g):
    xy, k = res
    r2 = jnp.sum(xy ** 2, -1, keepdims=True)
    proj = jnp.sum(g * xy, -1, keepdims=True)
    gxy = g * (1 + k[0] * r2 + k[1] * r2 ** 2) + 2 * xy * proj * (k[0] + k[1] * r2)
    gk = jnp.stack([jnp.sum(proj * r2), jnp.sum(proj * r2 ** 2)])
    return gxy, gk


distort.defvjp(_fwd, _bwd)
