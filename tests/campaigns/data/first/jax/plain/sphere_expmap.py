import jax
import jax.numpy as jnp


@jax.custom_vjp
def exp_map(x, v):
    n = jnp.linalg.norm(v, axis=-1, keepdims=True)
    return jnp.cos(n) * x + jnp.sin(n) * v / n


def exp_map_fwd(x, v):
    n = jnp.linalg.norm(v, axis=-1, keepdims=True)
    return exp_map(x, v), (x, v, n)


def exp_map_bwd(saved, g):
    x, v, n = saved
    s, c = jnp.sin(n), jnp.cos(n)
    u = v / n
    gn = jnp.sum(g * (-s * x + (c - s / n) * u), axis=-1, keepdims=True)
    return c * g, (s / n) * g + gn * u


exp_map.defvjp(exp_map_fwd, exp_map_bwd)
