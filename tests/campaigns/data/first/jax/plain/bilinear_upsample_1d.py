from functools import partial
import jax
import jax.numpy as jnp


def _taps(n, factor):
    pos = (jnp.arange(n * factor) + 0.5) / factor - 0.5
    lo = jnp.floor(pos).astype(int)
    w = pos - lo
    return jnp.clip(lo, 0, n - 1), jnp.clip(lo + 1, 0, n - 1), w


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def upsample(x, factor=2):
    a, b, w = _taps(x.shape[-1], factor)
    return (1 - w) * x[..., a] + w * x[..., b]


def up_fwd(x, factor):
    return upsample(x, factor), x


def up_bwd(factor, x, g):
    a, b, w = _taps(x.shape[-1], factor)
    gx = jnp.zeros_like(x)
    gx = gx.at[..., a].add(g * (1 - w))
    gx = gx.at[..., b].add(jnp.where(a == b, 0.0, g * w))
    return (gx,)


upsample.defvjp(up_fwd, up_bwd)
