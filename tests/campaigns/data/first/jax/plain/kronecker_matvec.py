import jax
import jax.numpy as jnp


@jax.custom_vjp
def kron_mv(A, B, x):
    X = x.reshape(A.shape[1], B.shape[1])
    return (A @ X @ B.T).reshape(-1)


def kron_fwd(A, B, x):
    return kron_mv(A, B, x), (A, B, x)


def kron_bwd(res, g):
    A, B, x = res
    X = x.reshape(A.shape[1], B.shape[1])
    G = g.reshape(A.shape[0], B.shape[0])
    gA = G @ (X @ B.T).T
    gB = X.T @ A.T @ G
    gx = (A.T @ G @ B).reshape(-1)
    return gA, gB, gx


kron_mv.defvjp(kron_fwd, kron_bwd)
