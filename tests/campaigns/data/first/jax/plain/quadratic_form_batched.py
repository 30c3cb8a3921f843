import jax
import jax.numpy as jnp


@jax.custom_vjp
def quad(x, A):
    return jnp.einsum("bi,ij,bj->b", x, A, x)


def quad_fwd(x, A):
    return quad(x, A), (x, A)


def quad_bwd(res, ct):
    x, A = res
    gx = ct[:, None] * (2 * x @ A.T)
    gA = jnp.einsum("b,bi,bj->ij", ct, x, x)
    return gx, gA


quad.defvjp(quad_fwd, quad_bwd)
