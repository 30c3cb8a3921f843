from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def batch_norm_train(x, gamma, beta, eps=1e-5):
    """Batch statistics over every axis but the last; gamma, beta: [features]."""
    return _fwd(x, gamma, beta, eps)[0]


def _fwd(x, gamma, beta, eps):
    if gamma.shape != x.shape[-1:] or beta.shape != x.shape[-1:]:
        raise ValueError("gamma, beta must be [features]")
    axes = tuple(range(x.ndim - 1))
    mu = x.mean(axes)
    rstd = 1.0 / jnp.sqrt(x.var(axes) + eps)
    xhat = (x - mu) * rstd
    return gamma * xhat + beta, (xhat, rstd, gamma)


def _bwd(eps, res, g):
    xhat, rstd, gamma = res
    axes = tuple(range(xhat.ndim - 1))
    dgamma = jnp.sum(g * xhat, axes)
    dbeta = jnp.sum(g, axes)
    n = xhat.size // xhat.shape[-1]
    dx = gamma * rstd * (g - xhat * dgamma / n)
    return dx, dgamma, dbeta


batch_norm_train.defvjp(_fwd, _bwd)
