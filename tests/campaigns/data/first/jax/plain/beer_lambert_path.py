import jax
import jax.numpy as jnp


@jax.custom_vjp
def transmission(kappa, thickness, I0):
    """intensity after each layer, I0 exp(-cumsum(kappa * thickness))"""
    return I0[..., None] * jnp.exp(-jnp.cumsum(kappa * thickness, -1))


def tr_fwd(kappa, thickness, I0):
    t = jnp.exp(-jnp.cumsum(kappa * thickness, -1))
    return I0[..., None] * t, (kappa, thickness, I0, t)


def tr_bwd(res, g):
    kappa, thickness, I0, t = res
    w = g * I0[..., None] * t
    gtau = -jnp.cumsum(w, -1)
    gth = gtau * kappa
    if gth.ndim > 1:
        gth = gth.sum(tuple(range(gth.ndim - 1)))
    return gtau * thickness, gth, jnp.sum(g * t, -1)


transmission.defvjp(tr_fwd, tr_bwd)
