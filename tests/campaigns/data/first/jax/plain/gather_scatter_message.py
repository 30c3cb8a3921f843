import jax
import jax.numpy as jnp


@jax.custom_vjp
def propagate(h, w, senders, receivers):
    return jnp.zeros_like(h).at[receivers].add(w[:, None] * h[senders])


def propagate_fwd(h, w, senders, receivers):
    return propagate(h, w, senders, receivers), (h, w, senders, receivers)


def propagate_bwd(res, g):
    h, w, s, r = res
    ge = g[s]
    gh = jnp.zeros_like(h).at[s].add(w[:, None] * ge)
    gw = jnp.sum(h[s] * g[r], axis=-1)
    return gh, gw, None, None


propagate.defvjp(propagate_fwd, propagate_bwd)
