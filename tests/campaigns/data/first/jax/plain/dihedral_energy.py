import jax
import jax.numpy as jnp


def _phi_parts(p):
    b1, b2, b3 = p[:, 1] - p[:, 0], p[:, 2] - p[:, 1], p[:, 3] - p[:, 2]
    m, n = jnp.cross(b1, b2), jnp.cross(b2, b3)
    l2 = jnp.linalg.norm(b2, axis=-1)
    phi = jnp.arctan2(l2 * jnp.sum(b1 * n, -1), jnp.sum(m * n, -1))
    return b1, b2, b3, m, n, l2, phi


@jax.custom_vjp
def torsion_energy(xyz, quads, k, mult):
    phi = _phi_parts(xyz[quads])[-1]
    return jnp.sum(k * (1 + jnp.cos(mult * phi)))


def torsion_fwd(xyz, quads, k, mult):
    return torsion_energy(xyz, quads, k, mult), (xyz, quads, k, mult)


def torsion_bwd(res, g):
    xyz, quads, k, mult = res
    b1, b2, b3, m, n, l2, phi = _phi_parts(xyz[quads])
    dphi = -k * mult * jnp.sin(mult * phi)
    m2, n2 = jnp.sum(m * m, -1), jnp.sum(n * n, -1)
    f1 = -(l2 / m2)[:, None] * m
    f4 = (l2 / n2)[:, None] * n
    s = (jnp.sum(b1 * b2, -1) / l2 ** 2)[:, None]
    t = (jnp.sum(b3 * b2, -1) / l2 ** 2)[:, None]
    f2 = -f1 - s * f1 + t * f4
    f3 = -f4 + s * f1 - t * f4
    gx = jnp.zeros_like(xyz)
    for c, f in enumerate((f1, f2, f3, f4)):
        gx = gx.at[quads[:, c]].add(dphi[:, None] * f)
    return g * gx, None, g * (1 + jnp.cos(mult * phi)), None


torsion_energy.defvjp(torsion_fwd, torsion_bwd)
