import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


def _t(m):
    return jnp.swapaxes(m, -1, -2)


@jax.custom_vjp
def cholesky_factor(a):
    """Lower Cholesky factor of the symmetric part of a [..., n, n]."""
    return jnp.linalg.cholesky(0.5 * (a + _t(a)))


def _fwd(a):
    l = cholesky_factor(a)
    return l, l


def _bwd(l, g):
    phi = jnp.tril(_t(l) @ jnp.tril(g))
    # L^-T phi L^-1, then the symmetric part
    s = solve_triangular(l, phi, lower=True, trans="T")
    s = _t(solve_triangular(l, _t(s), lower=True, trans="T"))
    return (0.5 * (s + _t(s)),)


cholesky_factor.defvjp(_fwd, _bwd)
