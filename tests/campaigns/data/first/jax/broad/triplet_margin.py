import jax
import jax.numpy as jnp


@jax.custom_vjp
def triplet_margin(anchor, positive, negative, margin=1.0):
    """mean max(0, |a - p|^2 - |a - n|^2 + margin), distances over the last axis."""
    return _fwd(anchor, positive, negative, margin)[0]


def _fwd(anchor, positive, negative, margin):
    if not (anchor.shape == positive.shape == negative.shape):
        raise ValueError("anchor, positive and negative must share a shape")
    if jnp.ndim(margin):
        raise ValueError("margin must be a scalar")
    dp = anchor - positive
    dn = anchor - negative
    viol = jnp.sum(dp**2, -1) - jnp.sum(dn**2, -1) + margin
    return jnp.mean(jax.nn.relu(viol)), (dp, dn, viol > 0)


def _bwd(res, g):
    dp, dn, active = res
    w = (g / active.size) * active
    w2 = 2.0 * w[..., None]
    return w2 * (dp - dn), -w2 * dp, w2 * dn, jnp.sum(w)


triplet_margin.defvjp(_fwd, _bwd)
