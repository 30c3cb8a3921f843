import jax
import jax.numpy as jnp


def to_h(p):
    return jnp.concatenate([p, jnp.ones_like(p[:, :1])], 1)


@jax.custom_vjp
def warp_points(p, H):
    q = to_h(p) @ H.T
    return q[:, :2] / q[:, 2:]


def warp_fwd(p, H):
    ph = to_h(p)
    q = ph @ H.T
    out = q[:, :2] / q[:, 2:]
    return out, (ph, H, q, out)


def warp_bwd(res, g):
    ph, H, q, out = res
    gn = g / q[:, 2:]
    gq = jnp.concatenate([gn, -jnp.sum(gn * out, 1, keepdims=True)], 1)
    return (gq @ H)[:, :2], gq.T @ ph


warp_points.defvjp(warp_fwd, warp_bwd)
