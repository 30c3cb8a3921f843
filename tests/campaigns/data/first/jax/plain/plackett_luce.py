import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_vjp
def pl_logprob(scores, ranking):
    s = scores[ranking]
    tails = lax.cumlogsumexp(s, axis=0, reverse=True)
    return jnp.sum(s - tails)


def pl_fwd(scores, ranking):
    s = scores[ranking]
    tails = lax.cumlogsumexp(s, axis=0, reverse=True)
    return jnp.sum(s - tails), (s, tails, ranking)


def pl_bwd(res, g):
    s, tails, ranking = res
    mass = jnp.cumsum(jnp.exp(-tails))[::-1]
    gs = 1.0 - jnp.exp(s) * mass
    return jnp.zeros_like(s).at[ranking].set(g * gs), None


pl_logprob.defvjp(pl_fwd, pl_bwd)
