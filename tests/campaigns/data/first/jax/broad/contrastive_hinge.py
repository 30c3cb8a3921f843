import jax
import jax.numpy as jnp


@jax.custom_vjp
def contrastive_hinge(x1, x2, same, margin=2.0):
    """Contrastive loss: same d^2 + (1 - same) max(0, margin - d)^2, averaged over pairs.

    x1, x2: [pairs, dim];  same: [pairs], 1 for a matching pair, 0 otherwise.
    ``same`` and ``margin`` are constants.
    """
    return _fwd(x1, x2, same, margin)[0]


def _fwd(x1, x2, same, margin):
    if x1.ndim != 2 or x1.shape != x2.shape or same.shape != x1.shape[:1]:
        raise ValueError("x1, x2 [pairs, dim], same [pairs]")
    diff = x1 - x2
    d = jnp.sqrt(jnp.sum(diff * diff, axis=-1))
    gap = margin - d
    loss = same * d**2 + (1 - same) * jnp.maximum(gap, 0.0) ** 2
    return loss.mean(), (diff, d, gap, same)


def _bwd(res, g):
    diff, d, gap, same = res
    per_pair = 2.0 * same - 2.0 * (1 - same) * gap / d
    dx = (g / d.shape[0]) * per_pair[:, None] * diff
    return dx, -dx, None, None


contrastive_hinge.defvjp(_fwd, _bwd)
