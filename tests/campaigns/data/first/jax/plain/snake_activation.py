import jax
import jax.numpy as jnp


@jax.custom_vjp
def snake(x, alpha):
    """x + sin^2(alpha x)/alpha, alpha per channel (last axis)"""
    return x + jnp.sin(alpha * x) ** 2 / alpha


def snake_fwd(x, alpha):
    return snake(x, alpha), (x, alpha)


def snake_bwd(res, g):
    x, a = res
    s2 = jnp.sin(2 * a * x)
    gx = g * (1 + s2)
    ga = g * (x * s2 / a - jnp.sin(a * x) ** 2 / a ** 2)
    return gx, ga.sum(axis=tuple(range(g.ndim - 1)))


snake.defvjp(snake_fwd, snake_bwd)
