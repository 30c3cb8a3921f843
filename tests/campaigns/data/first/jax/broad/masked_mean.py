from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def masked_mean(x, mask, axis=-1):
    """Mean of x over ``axis`` where mask is set (mask bool, shape of x)."""
    return _fwd(x, mask, axis)[0]


def _fwd(x, mask, axis):
    if x.shape != mask.shape:
        raise ValueError("mask must have the shape of x")
    m = mask.astype(x.dtype)
    count = jnp.maximum(m.sum(axis), 1.0)
    return (x * m).sum(axis) / count, m


def _bwd(axis, m, g):
    return jnp.expand_dims(g, axis) * m / m.shape[axis], None


masked_mean.defvjp(_fwd, _bwd)
