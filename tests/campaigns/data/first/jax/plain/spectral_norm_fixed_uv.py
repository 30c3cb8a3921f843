import jax
import jax.numpy as jnp


@jax.custom_vjp
def sn_weight(W, u, v):
    """W / (u^T W v); u and v are power-iteration vectors"""
    return W / (u @ W @ v)


def sn_fwd(W, u, v):
    s = u @ W @ v
    return W / s, (W, u, v, s)


def sn_bwd(res, G):
    W, u, v, s = res
    gs = -jnp.sum(G * W) / s
    return G / s + gs * jnp.outer(u, v), gs * (W @ v), gs * (W.T @ u)


sn_weight.defvjp(sn_fwd, sn_bwd)
