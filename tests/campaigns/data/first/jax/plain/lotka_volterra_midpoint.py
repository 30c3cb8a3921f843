import functools
import jax
import jax.numpy as jnp


def rhs(x, y, th):
    a, b, c, d = th
    return a * x - b * x * y, c * x * y - d * y


def rhs_vjp(x, y, th, gx, gy):
    a, b, c, d = th
    vx = gx * (a - b * y) + gy * c * y
    vy = -gx * b * x + gy * (c * x - d)
    vth = jnp.stack([jnp.sum(gx * x), -jnp.sum(gx * x * y), jnp.sum(gy * x * y), -jnp.sum(gy * y)])
    return vx, vy, vth


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def lv_midpoint(x, y, theta, h=0.1):
    """one explicit midpoint step, theta = (a, b, c, d)"""
    k1 = rhs(x, y, theta)
    k2 = rhs(x + 0.5 * h * k1[0], y + 0.5 * h * k1[1], theta)
    return x + h * k2[0], y + h * k2[1]


def lv_fwd(x, y, theta, h):
    k1 = rhs(x, y, theta)
    xm, ym = x + 0.5 * h * k1[0], y + 0.5 * h * k1[1]
    k2 = rhs(xm, ym, theta)
    return (x + h * k2[0], y + h * k2[1]), (x, y, xm, ym, theta)


def lv_bwd(h, res, ct):
    x, y, xm, ym, theta = res
    gx, gy = ct
    mx, my, t2 = rhs_vjp(xm, ym, theta, h * gx, h * gy)
    ax, ay, t1 = rhs_vjp(x, y, theta, 0.5 * h * mx, 0.5 * h * my)
    return gx + mx + ax, gy + my + ay, t1 + t2


lv_midpoint.defvjp(lv_fwd, lv_bwd)
