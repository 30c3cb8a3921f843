import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_vjp
def ema(x, decay):
    """y_t = decay*y_{t-1} + (1-decay)*x_t with y_{-1}=x_0"""
    def step(y, xt):
        y = decay * y + (1 - decay) * xt
        return y, y
    return lax.scan(step, x[0], x)[1]


def ema_fwd(x, decay):
    y = ema(x, decay)
    return y, (x, decay, y)


def ema_bwd(res, gy):
    x, decay, y = res
    prev = jnp.concatenate([x[:1], y[:-1]])

    def back(c, inp):
        g, xt, yp = inp
        c = c + g
        return decay * c, ((1 - decay) * c, jnp.sum(c * (yp - xt)))

    c, (gx, gd) = lax.scan(back, jnp.zeros_like(x[0]), (gy, x, prev), reverse=True)
    return gx.at[0].add(c), gd.sum()


ema.defvjp(ema_fwd, ema_bwd)
