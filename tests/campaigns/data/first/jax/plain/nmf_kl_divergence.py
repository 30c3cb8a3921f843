import jax
import jax.numpy as jnp


@jax.custom_vjp
def kl_nmf(V, W, H):
    R = W @ H
    return jnp.sum(V * jnp.log(V / R) - V + R)


def kl_nmf_fwd(V, W, H):
    R = W @ H
    return jnp.sum(V * jnp.log(V / R) - V + R), (V, W, H, R)


def kl_nmf_bwd(res, g):
    V, W, H, R = res
    E = g * (1 - V / R)
    return g * jnp.log(V / R), E @ H.T, W.T @ E


kl_nmf.defvjp(kl_nmf_fwd, kl_nmf_bwd)
