import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


@jax.custom_vjp
def mvn_logpdf(x, mean, L):
    """L lower triangular factor of the covariance (upper part ignored)."""
    z = solve_triangular(L, x - mean, lower=True)
    return -0.5 * z @ z - jnp.sum(jnp.log(jnp.diag(L))) - 0.5 * x.size * jnp.log(2 * jnp.pi)


def mvn_fwd(x, mean, L):
    z = solve_triangular(L, x - mean, lower=True)
    return mvn_logpdf(x, mean, L), (z, L)


def mvn_bwd(res, g):
    z, L = res
    a = solve_triangular(L, z, lower=True, trans=1)
    gL = jnp.tril(jnp.outer(a, z)) - jnp.diag(1.0 / jnp.diag(L))
    return -g * a, g * a, g * gL


mvn_logpdf.defvjp(mvn_fwd, mvn_bwd)
