import jax
import jax.numpy as jnp


def _dot(a, b):
    return jnp.sum(a * b, axis=-1, keepdims=True)


@jax.custom_vjp
def rotate_axis_angle(r, p):
    th = jnp.sqrt(_dot(r, r))
    k = r / th
    return p * jnp.cos(th) + jnp.cross(k, p) * jnp.sin(th) + k * _dot(k, p) * (1 - jnp.cos(th))


def _fwd(r, p):
    return rotate_axis_angle(r, p), (r, p)


def _bwd(res, g):
    r, p = res
    th = jnp.sqrt(_dot(r, r))
    k = r / th
    c, s = jnp.cos(th), jnp.sin(th)
    gp = g * c + jnp.cross(g, k) * s + k * _dot(k, g) * (1 - c)
    gth = _dot(g, -p * s + jnp.cross(k, p) * c + k * _dot(k, p) * s)
    gk = jnp.cross(g, p) * s + (g * _dot(k, p) + p * _dot(k, g)) * (1 - c)
    gr = k * gth + (gk - k * _dot(k, gk)) / th
    return gr, gp


rotate_axis_angle.defvjp(_fwd, _bwd)
