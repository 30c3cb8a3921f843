from functools import partial

import jax
import jax.numpy as jnp


@jax.custom_vjp
def fir(x, h):
    """Valid convolution of each row of x with taps h."""
    n = x.shape[-1] - h.shape[0] + 1
    return sum(h[::-1][j] * x[..., j : j + n] for j in range(h.shape[0]))


def fir_fwd(x, h):
    return fir(x, h), (x, h)


def fir_bwd(res, g):
    x, h = res
    k, n = h.shape[0], g.shape[-1]
    pad = [(0, 0)] * (g.ndim - 1) + [(k - 1, k - 1)]
    gp = jnp.pad(g, pad)
    dx = sum(h[j] * gp[..., j : j + x.shape[-1]] for j in range(k))
    dh = jnp.stack([(g * x[..., k - 1 - j : k - 1 - j + n]).sum() for j in range(k)])
    return dx, dh


fir.defvjp(fir_fwd, fir_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def lap1d(u, periodic=True):
    """Second difference along the last axis; zeros beyond the ends unless periodic."""
    if periodic:
        return jnp.roll(u, 1, -1) + jnp.roll(u, -1, -1) - 2 * u
    p = jnp.pad(u, [(0, 0)] * (u.ndim - 1) + [(1, 1)])
    return p[..., 2:] + p[..., :-2] - 2 * u


lap1d.defvjp(lambda u, periodic: (lap1d(u, periodic), None), lambda periodic, _, g: (lap1d(g, periodic),))


@jax.custom_vjp
def haar(x):
    """One level of the orthonormal Haar transform: low and high band."""
    e, o = x[..., ::2], x[..., 1::2]
    return (e + o) / jnp.sqrt(2.0), (e - o) / jnp.sqrt(2.0)


def haar_bwd(_, g):
    lo, hi = g
    y = jnp.stack([lo + hi, lo - hi], -1) / jnp.sqrt(2.0)
    return (y.reshape(*lo.shape[:-1], -1),)


haar.defvjp(lambda x: (haar(x), None), haar_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def frame(x, size=4, hop=2):
    """Overlapping windows of a signal: (T,) -> (N, size)."""
    n = (x.shape[0] - size) // hop + 1
    i = jnp.arange(n)[:, None] * hop + jnp.arange(size)
    return x[i]


def frame_fwd(x, size, hop):
    return frame(x, size, hop), x.shape[0]


def frame_bwd(size, hop, t, g):
    i = jnp.arange(g.shape[0])[:, None] * hop + jnp.arange(size)
    return (jnp.zeros(t, g.dtype).at[i].add(g),)


frame.defvjp(frame_fwd, frame_bwd)


@jax.custom_vjp
def quad_form(x, A):
    """x^T A x for each row of x."""
    return jnp.einsum("...i,ij,...j->...", x, A, x)


def qf_fwd(x, A):
    return quad_form(x, A), (x, A)


def qf_bwd(res, g):
    x, A = res
    dx = g[..., None] * (x @ A.T + x @ A)
    return dx, jnp.einsum("...,...i,...j->ij", g, x, x)


quad_form.defvjp(qf_fwd, qf_bwd)


@jax.custom_vjp
def mat_inv(A):
    return jnp.linalg.inv(A)


def mi_fwd(A):
    B = jnp.linalg.inv(A)
    return B, B


def mi_bwd(B, g):
    Bt = jnp.swapaxes(B, -1, -2)
    return (-Bt @ g @ Bt,)


mat_inv.defvjp(mi_fwd, mi_bwd)


@jax.custom_vjp
def mahalanobis(x, mu, L):
    """|L^-1 (x - mu)|^2 for rows x and a lower triangular factor L."""
    z = jax.scipy.linalg.solve_triangular(L, (x - mu).T, lower=True)
    return (z * z).sum(0)


def mh_fwd(x, mu, L):
    z = jax.scipy.linalg.solve_triangular(L, (x - mu).T, lower=True)
    return (z * z).sum(0), (z, L)


def mh_bwd(res, g):
    z, L = res
    u = jax.scipy.linalg.solve_triangular(L, 2 * g * z, lower=True, trans=1)
    return u.T, -u.sum(1), -jnp.tril(u @ z.T)


mahalanobis.defvjp(mh_fwd, mh_bwd)
