from functools import partial
import jax
import jax.numpy as jnp
from jax import lax


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def retention(q, k, v, gamma=0.9):
    def step(S, qkv):
        q, k, v = qkv
        S = gamma * S + jnp.outer(k, v)
        return S, q @ S
    S0 = jnp.zeros((k.shape[1], v.shape[1]), v.dtype)
    return lax.scan(step, S0, (q, k, v))[1]


def ret_fwd(q, k, v, gamma):
    return retention(q, k, v, gamma), (q, k, v)


def ret_bwd(gamma, res, go):
    q, k, v = res

    def states(S, kv):
        S = gamma * S + jnp.outer(*kv)
        return S, S
    S0 = jnp.zeros((k.shape[1], v.shape[1]), v.dtype)
    _, Ss = lax.scan(states, S0, (k, v))
    gq = jnp.einsum("tij,tj->ti", Ss, go)

    def back(G, inp):
        q, k, v, g = inp
        G = gamma * (G + jnp.outer(q, g))
        return G, (G @ v, k @ G)

    _, (gk, gv) = lax.scan(back, S0, (q, k, v, go), reverse=True)
    return gq, gk, gv


retention.defvjp(ret_fwd, ret_bwd)
