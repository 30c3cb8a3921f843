"""Log-sum-exp over the entries a mask lets through."""
from functools import partial

import jax
import jax.numpy as jnp


def _forward(x, mask, axis):
    mask = jnp.broadcast_to(mask, x.shape)
    m = jnp.max(jnp.where(mask, x, -jnp.inf), axis=axis, keepdims=True)
    m = jnp.where(jnp.isfinite(m), m, 0.0)
    e = jnp.where(mask, jnp.exp(jnp.where(mask, x - m, 0.0)), 0.0)
    s = e.sum(axis=axis, keepdims=True)
    return jnp.squeeze(m + jnp.log(s), axis), e, s


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def masked_logsumexp(x, mask, axis=-1):
    """x: float; mask: bool, broadcasts to x (True = counts). Empty slices give -inf."""
    return _forward(x, mask, axis)[0]


def _fwd(x, mask, axis):
    out, e, s = _forward(x, mask, axis)
    return out, e / jnp.where(s > 0, s, 1.0)


def _bwd(axis, p, g):
    return jnp.expand_dims(g, axis) * p, None


masked_logsumexp.defvjp(_fwd, _bwd)
