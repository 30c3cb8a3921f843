import jax
import jax.numpy as jnp


def _conj(q):
    return q * jnp.array([1.0, -1.0, -1.0, -1.0], q.dtype)


def _mul(p, q):
    pw, px, py, pz = jnp.moveaxis(p, -1, 0)
    qw, qx, qy, qz = jnp.moveaxis(q, -1, 0)
    return jnp.stack(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ],
        axis=-1,
    )


@jax.custom_vjp
def quaternion_multiply(p, q):
    """Hamilton product of quaternions [..., 4] in (w, x, y, z) order."""
    if p.shape != q.shape or p.shape[-1] != 4:
        raise ValueError("p and q must be [..., 4] of one shape")
    return _mul(p, q)


def _fwd(p, q):
    return _mul(p, q), (p, q)


def _bwd(res, g):
    p, q = res
    return _mul(g, _conj(q)), _mul(g, _conj(p))


quaternion_multiply.defvjp(_fwd, _bwd)
