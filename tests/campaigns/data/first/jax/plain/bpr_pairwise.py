import jax
import jax.numpy as jnp


@jax.custom_vjp
def bpr(U, V, u, pos, neg):
    x = jnp.sum(U[u] * (V[pos] - V[neg]), axis=1)
    return jnp.mean(jax.nn.softplus(-x))


def bpr_fwd(U, V, u, pos, neg):
    x = jnp.sum(U[u] * (V[pos] - V[neg]), axis=1)
    return jnp.mean(jax.nn.softplus(-x)), (U, V, u, pos, neg, x)


def bpr_bwd(res, g):
    U, V, u, pos, neg, x = res
    c = (-g * jax.nn.sigmoid(-x) / x.shape[0])[:, None]
    gU = jnp.zeros_like(U).at[u].add(c * (V[pos] - V[neg]))
    gV = jnp.zeros_like(V).at[pos].add(c * U[u]).at[neg].add(-c * U[u])
    return gU, gV, None, None, None


bpr.defvjp(bpr_fwd, bpr_bwd)
