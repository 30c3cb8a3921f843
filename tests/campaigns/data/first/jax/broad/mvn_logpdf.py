import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

LOG_2PI = 1.8378770664093453


def _whiten(x, mean, chol):
    d = x.shape[-1]
    if mean.shape != (d,) or chol.shape != (d, d):
        raise ValueError("mean must be [d] and chol [d, d]")
    flat = (x - mean).reshape(-1, d)
    return solve_triangular(chol, flat.T, lower=True).T


@jax.custom_vjp
def mvn_logpdf(x, mean, chol):
    """Log density of N(mean, L L^T) at x[..., d]; chol is the lower factor L."""
    z = _whiten(x, mean, chol)
    logdet = jnp.sum(jnp.log(jnp.abs(jnp.diagonal(chol))))
    out = -0.5 * jnp.sum(z * z, -1) - logdet - 0.5 * x.shape[-1] * LOG_2PI
    return out.reshape(x.shape[:-1])


def mvn_fwd(x, mean, chol):
    return mvn_logpdf(x, mean, chol), (x, mean, chol)


def mvn_bwd(res, g):
    x, mean, chol = res
    z = _whiten(x, mean, chol)
    w = solve_triangular(chol, z.T, lower=True, trans="T").T  # L^-T z
    gf = g.reshape(-1, 1)
    gx = -gf * w
    gl = jnp.tril((gf * w).T @ z) - jnp.diag(gf.sum() / jnp.diagonal(chol))
    return gx.reshape(x.shape), -gx.sum(0), gl


mvn_logpdf.defvjp(mvn_fwd, mvn_bwd)
