import jax
import jax.numpy as jnp


@jax.custom_vjp
def tps(x, ctrl):
    d = x[:, None, :] - ctrl[None]
    r2 = (d ** 2).sum(-1)
    return 0.5 * r2 * jnp.log(r2)


def f(x, ctrl):
    return tps(x, ctrl), (x, ctrl)


def b(res, g):
    x, ctrl = res
    d = x[:, None, :] - ctrl[None]
    r2 = (d ** 2).sum(-1)
    w = (g * (jnp.log(r2)))[..., None] * d
    return w.sum(1), -w.sum(0)


tps.defvjp(f, b)
