import jax
import jax.numpy as jnp


@jax.custom_vjp
def bm_energy(V, E0, V0, B0, Bp):
    """third order Birch-Murnaghan E(V)"""
    x = (V0 / V) ** (2.0 / 3.0)
    return E0 + 9 * V0 * B0 / 16 * ((x - 1) ** 3 * Bp + (x - 1) ** 2 * (6 - 4 * x))


def bm_fwd(V, E0, V0, B0, Bp):
    return bm_energy(V, E0, V0, B0, Bp), (V, V0, B0, Bp)


def bm_bwd(res, g):
    V, V0, B0, Bp = res
    x = (V0 / V) ** (2.0 / 3.0)
    y = x - 1
    core = y ** 3 * Bp + y ** 2 * (6 - 4 * x)
    dcore = 3 * y ** 2 * Bp + 2 * y * (6 - 4 * x) - 4 * y ** 2
    pre = 9 * V0 * B0 / 16
    gx = g * pre * dcore
    gV = -gx * (2.0 / 3.0) * (V0 / V) ** (5.0 / 3.0) / V
    gV0 = jnp.sum(gx * (2.0 / 3.0) * x / V0 + g * 9 * B0 / 16 * core)
    return gV, jnp.sum(g), gV0, jnp.sum(g * 9 * V0 / 16 * core), jnp.sum(g * pre * y ** 3)


bm_energy.defvjp(bm_fwd, bm_bwd)
