from functools import partial
import jax
import jax.numpy as jnp
from jax import lax


def _step(u, v, dt):
    back = u - jnp.roll(u, 1)
    fwd_ = jnp.roll(u, -1) - u
    return u - dt * jnp.where(v > 0, v * back, v * fwd_)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def advect(u, v, dt=0.1, steps=4):
    """first order upwind on a periodic grid, scalar velocity v"""
    for _ in range(steps):
        u = _step(u, v, dt)
    return u


def advect_fwd(u, v, dt, steps):
    hist = []
    for _ in range(steps):
        hist.append(u)
        u = _step(u, v, dt)
    return u, (jnp.stack(hist), v)


def advect_bwd(dt, steps, res, g):
    hist, v = res
    gv = 0.0
    for u in hist[::-1]:
        du = jnp.where(v > 0, u - jnp.roll(u, 1), jnp.roll(u, -1) - u)
        gv = gv - dt * jnp.sum(g * du)
        g_pos = g - dt * v * (g - jnp.roll(g, -1))
        g_neg = g - dt * v * (jnp.roll(g, 1) - g)
        g = jnp.where(v > 0, g_pos, g_neg)
    return g, gv


advect.defvjp(advect_fwd, advect_bwd)
