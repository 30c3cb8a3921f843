import itertools
import jax
import jax.numpy as jnp


@jax.custom_vjp
def sample_volume(vol, pts):
    """vol (D,H,W), pts (N,3) in voxel units, interior only"""
    i0 = jnp.floor(pts).astype(int)
    f = pts - i0
    out = 0.0
    for c in itertools.product((0, 1), repeat=3):
        w = jnp.prod(jnp.where(jnp.array(c) == 1, f, 1 - f), axis=-1)
        out = out + w * vol[i0[:, 0] + c[0], i0[:, 1] + c[1], i0[:, 2] + c[2]]
    return out


def _fwd(vol, pts):
    return sample_volume(vol, pts), (vol, pts)


def _bwd(res, g):
    vol, pts = res
    i0 = jnp.floor(pts).astype(int)
    f = pts - i0
    gv = jnp.zeros_like(vol)
    gp = [0.0, 0.0, 0.0]
    for c in itertools.product((0, 1), repeat=3):
        w = [f[:, k] if c[k] else 1 - f[:, k] for k in range(3)]
        at = (i0[:, 0] + c[0], i0[:, 1] + c[1], i0[:, 2] + c[2])
        gv = gv.at[at].add(g * w[0] * w[1] * w[2])
        v = g * vol[at]
        sgn = [2 * ci - 1 for ci in c]
        gp[0] += sgn[0] * v * w[1] * w[2]
        gp[1] += sgn[1] * v * w[1] * w[2]
        gp[2] += sgn[2] * v * w[0] * w[1]
    return gv, jnp.stack(gp, -1)


sample_volume.defvjp(_fwd, _bwd)
