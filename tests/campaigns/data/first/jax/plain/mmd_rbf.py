import functools
import jax
import jax.numpy as jnp


def _k(a, b, s):
    d = a[:, None] - b[None]
    return jnp.exp(-(d ** 2).sum(-1) / (2 * s ** 2)), d


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def mmd2(x, y, sigma=1.0):
    return _k(x, x, sigma)[0].mean() + _k(y, y, sigma)[0].mean() - 2 * _k(x, y, sigma)[0].mean()


def mmd_fwd(x, y, sigma):
    return mmd2(x, y, sigma), (x, y)


def mmd_bwd(sigma, res, g):
    x, y = res
    n, m = x.shape[0], y.shape[0]

    def self_term(a):
        k, d = _k(a, a, sigma)
        return -2 * (k[..., None] * d).sum(1) / (sigma ** 2 * a.shape[0] ** 2)

    k, d = _k(x, y, sigma)
    cross = 2 * k[..., None] * d / (sigma ** 2 * n * m)
    return g * (self_term(x) + cross.sum(1)), g * (self_term(y) - cross.sum(0))


mmd2.defvjp(mmd_fwd, mmd_bwd)
