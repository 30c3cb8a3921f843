from functools import partial
import jax
import jax.numpy as jnp


def _box(x, k):
    h = k // 2
    pad = [(0, 0)] * (x.ndim - 1) + [(h, h)]
    xp = jnp.pad(x, pad)
    return sum(xp[..., i:i + x.shape[-1]] for i in range(k))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def moving_average(x, k=3):
    return _box(x, k) / _box(jnp.ones_like(x), k)


def ma_fwd(x, k):
    return moving_average(x, k), x


def ma_bwd(k, x, g):
    return (_box(g / k, k),)


moving_average.defvjp(ma_fwd, ma_bwd)
