from functools import partial
import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def segment_lse(x, seg, n):
    m = jax.ops.segment_max(x, seg, n)
    m = jnp.where(jnp.isfinite(m), m, 0.0)
    return m + jnp.log(jax.ops.segment_sum(jnp.exp(x - m[seg]), seg, n) + 1e-12)


def _fwd(x, seg, n):
    m = jax.ops.segment_max(x, seg, n)
    m = jnp.where(jnp.isfinite(m), m, 0.0)
    e = jnp.exp(x - m[seg])
    tot = jax.ops.segment_sum(e, seg, n) + 1e-12
    return m + jnp.log(tot), (e / tot[seg], seg)


def _bwd(n, res, g):
    p, seg = res
    return p * g[seg], None


segment_lse.defvjp(_fwd, _bwd)
