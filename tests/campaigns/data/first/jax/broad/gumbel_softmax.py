from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def gumbel_softmax(logits, uniform, tau=1.0):
    """Relaxed categorical sample. ``uniform``: U(0, 1) draws of the shape of logits.

    The draws are treated as data: they get no gradient.
    """
    if logits.shape != uniform.shape:
        raise ValueError("uniform must have the shape of logits")
    gumbel = -jnp.log(-jnp.log(jnp.clip(uniform, 1e-10, 1.0 - 1e-10)))
    return jax.nn.softmax((logits + gumbel) / tau, axis=-1)


def _gs_fwd(logits, uniform, tau):
    y = gumbel_softmax(logits, uniform, tau)
    return y, y


def _gs_bwd(tau, y, g):
    return y * (g - jnp.sum(g * y, axis=-1, keepdims=True)) / tau, None


gumbel_softmax.defvjp(_gs_fwd, _gs_bwd)
