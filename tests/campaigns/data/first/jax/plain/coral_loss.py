import jax
import jax.numpy as jnp


def cov(x):
    xc = x - x.mean(0)
    return xc.T @ xc / (x.shape[0] - 1)


@jax.custom_vjp
def coral(src, tgt):
    d = src.shape[1]
    return jnp.sum((cov(src) - cov(tgt)) ** 2) / (4 * d * d)


def coral_fwd(src, tgt):
    return coral(src, tgt), (src, tgt)


def coral_bwd(res, g):
    src, tgt = res
    d = src.shape[1]
    D = cov(src) - cov(tgt)
    gs = (src - src.mean(0)) @ D / (d * d * (src.shape[0] - 1))
    gt = -(tgt - tgt.mean(0)) @ D / (d * d * (src.shape[0] - 1))
    return g * gs, g * gt


coral.defvjp(coral_fwd, coral_bwd)
