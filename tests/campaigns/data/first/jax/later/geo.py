from functools import partial

import jax
import jax.numpy as jnp


@jax.custom_jvp
def quat_mul(p, q):
    """Hamilton product, scalar first."""
    pw, px, py, pz = jnp.moveaxis(p, -1, 0)
    qw, qx, qy, qz = jnp.moveaxis(q, -1, 0)
    return jnp.stack(
        [
            pw * qw - px * qx - py * qy - pz * qz,
            pw * qx + px * qw + py * qz - pz * qy,
            pw * qy - px * qz + py * qw + pz * qx,
            pw * qz + px * qy - py * qx + pz * qw,
        ],
        -1,
    )


@quat_mul.defjvp
def _(primals, tangents):
    p, q = primals
    dp, dq = tangents
    return quat_mul(p, q), quat_mul(dp, q) + quat_mul(dq, p)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def safe_norm(x, axis=-1, eps=1e-8):
    return jnp.sqrt((x * x).sum(axis) + eps)


def _sn_fwd(x, axis, eps):
    n = safe_norm(x, axis, eps)
    return n, (x, n)


def _sn_bwd(axis, eps, res, g):
    x, n = res
    return (x * jnp.expand_dims(g / n, axis),)


safe_norm.defvjp(_sn_fwd, _sn_bwd)


@jax.custom_vjp
def tri_area(a, b, c):
    """Area of triangles with corners a, b, c of shape (..., 3)."""
    n = jnp.cross(b - a, c - a)
    return 0.5 * jnp.sqrt((n * n).sum(-1))


def _ta_fwd(a, b, c):
    n = jnp.cross(b - a, c - a)
    norm = jnp.sqrt((n * n).sum(-1, keepdims=True))
    return 0.5 * norm[..., 0], (a, b, c, n / norm)


def _ta_bwd(res, g):
    a, b, c, u = res
    h = 0.5 * g[..., None]
    return h * jnp.cross(u, b - c), h * jnp.cross(u, a - c), h * jnp.cross(u, b - a)


tri_area.defvjp(_ta_fwd, _ta_bwd)


@jax.custom_jvp
def sph2cart(r, theta, phi):
    st = jnp.sin(theta)
    return r * st * jnp.cos(phi), r * st * jnp.sin(phi), r * jnp.cos(theta)


@sph2cart.defjvp
def _(primals, tangents):
    r, t, p = primals
    dr, dt, dp = tangents
    st, ct, sp, cp = jnp.sin(t), jnp.cos(t), jnp.sin(p), jnp.cos(p)
    dx = dr * st * cp + r * ct * cp * dt - r * st * sp * dp
    dy = dr * st * sp + r * ct * sp * dt + r * st * cp * dp
    dz = dr * ct - r * st * dt
    return (r * st * cp, r * st * sp, r * ct), (dx, dy, dz)


@jax.custom_vjp
def reflect(d, n):
    """D - 2 (d.n) n / (n.n)."""
    return d - 2 * (d * n).sum(-1, keepdims=True) * n / (n * n).sum(-1, keepdims=True)


def _rf_fwd(d, n):
    return reflect(d, n), (d, n)


def _rf_bwd(res, g):
    d, n = res
    nn = (n * n).sum(-1, keepdims=True)
    dn = (d * n).sum(-1, keepdims=True) / nn
    gn = (g * n).sum(-1, keepdims=True) / nn
    return g - 2 * gn * n, -2 * (gn * d + dn * g)


reflect.defvjp(_rf_fwd, _rf_bwd)
