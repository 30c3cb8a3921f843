import jax
import jax.numpy as jnp


@jax.custom_vjp
def cayley(M):
    A = M - M.T
    eye = jnp.eye(M.shape[0], dtype=M.dtype)
    return jnp.linalg.solve(eye + A, eye - A)


def cayley_fwd(M):
    Q = cayley(M)
    return Q, (M, Q)


def cayley_bwd(res, G):
    M, Q = res
    eye = jnp.eye(M.shape[0], dtype=M.dtype)
    A = M - M.T
    lam = jnp.linalg.solve((eye + A).T, G)
    gA = -lam @ (eye + Q).T
    return (gA - gA.T,)


cayley.defvjp(cayley_fwd, cayley_bwd)
