from functools import partial

import jax
import jax.numpy as jnp


def _causal_sum(x, window):
    c = jnp.cumsum(x, axis=-1)
    pad = [(0, 0)] * (x.ndim - 1) + [(window, 0)]
    return c - jnp.pad(c, pad)[..., : x.shape[-1]]


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def moving_average(x, window=3):
    """Trailing moving average along time (last axis), zeros before the start."""
    return _causal_sum(x, window) / window


def _fwd(x, window):
    return moving_average(x, window), None


def _bwd(window, _, g):
    return (_causal_sum(g, window) / window,)


moving_average.defvjp(_fwd, _bwd)
