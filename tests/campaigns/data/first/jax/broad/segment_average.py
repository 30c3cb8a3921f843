from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def segment_average(data, segment_ids, num_segments):
    """Average rows of data that share a segment id."""
    return _fwd(data, segment_ids, num_segments)[0]


def _fwd(data, segment_ids, num_segments):
    if segment_ids.shape != data.shape[:1]:
        raise ValueError("one segment id per row")
    total = jax.ops.segment_sum(data, segment_ids, num_segments)
    count = jax.ops.segment_sum(jnp.ones(segment_ids.shape, data.dtype), segment_ids, num_segments)
    count = jnp.maximum(count, 1.0).reshape((-1,) + (1,) * (data.ndim - 1))
    return total / count, segment_ids


def _bwd(num_segments, segment_ids, g):
    return g[segment_ids], None


segment_average.defvjp(_fwd, _bwd)
