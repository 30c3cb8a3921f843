from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def scaled_elu(x, alpha=1.6732632423543772, scale=1.0507009873554805):
    """SELU."""
    return scale * jnp.where(x > 0, x, alpha * jnp.expm1(jnp.minimum(x, 0.0)))


def _fwd(x, alpha, scale):
    y = scaled_elu(x, alpha, scale)
    return y, y


def _bwd(alpha, scale, y, g):
    # from the output only: scale alpha e^x is an affine function of y for x < 0
    return (g * jnp.where(y > 0, scale, y + alpha),)


scaled_elu.defvjp(_fwd, _bwd)
