import jax
import jax.numpy as jnp


def _c(z):
    d = z.shape[-1] // 2
    return z[..., :d], z[..., d:]


@jax.custom_vjp
def rotate_score(h, phase, t):
    hr, hi = _c(h)
    tr, ti = _c(t)
    c, s = jnp.cos(phase), jnp.sin(phase)
    dr, di = hr * c - hi * s - tr, hr * s + hi * c - ti
    return -jnp.sum(jnp.sqrt(dr ** 2 + di ** 2 + 1e-9), axis=-1)


def rs_fwd(h, phase, t):
    return rotate_score(h, phase, t), (h, phase, t)


def rs_bwd(res, g):
    h, phase, t = res
    hr, hi = _c(h)
    tr, ti = _c(t)
    c, s = jnp.cos(phase), jnp.sin(phase)
    dr, di = hr * c - hi * s - tr, hr * s + hi * c - ti
    n = jnp.sqrt(dr ** 2 + di ** 2 + 1e-9)
    ur, ui = -g[:, None] * dr / n, -g[:, None] * di / n
    gh = jnp.concatenate([ur * c + ui * s, ui * c - ur * s], -1)
    gph = -ur * (hr * s + hi * c) + ui * (hr * c - hi * s)
    return gh, gph, -jnp.concatenate([ur, ui], -1)


rotate_score.defvjp(rs_fwd, rs_bwd)
