import jax
import jax.numpy as jnp
from functools import partial


@jax.custom_vjp
def gaussian_kl(mu_q, logvar_q, mu_p, logvar_p):
    t = jnp.exp(logvar_q - logvar_p) + (mu_q - mu_p) ** 2 * jnp.exp(-logvar_p) - 1 + logvar_p - logvar_q
    return 0.5 * t.sum()


def _f(mu_q, lq, mu_p, lp):
    assert mu_q.shape == lq.shape == mu_p.shape == lp.shape
    return gaussian_kl(mu_q, lq, mu_p, lp), (mu_q, lq, mu_p, lp)


def _b(res, g):
    mq, lq, mp, lp = res
    ip = jnp.exp(-lp)
    d = mq - mp
    r = jnp.exp(lq - lp)
    return g * d * ip, 0.5 * g * (r - 1), -g * d * ip, 0.5 * g * (1 - r)


gaussian_kl.defvjp(_f, _b)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def topk_mask(x, k=2, fill=0.0):
    if x.shape[-1] < k:
        raise ValueError("k")
    thr = jnp.sort(x, -1)[..., -k, None]
    return jnp.where(x >= thr, x, fill)


def tm_fwd(x, k, fill):
    y = topk_mask(x, k, fill)
    return y, y


def tm_bwd(k, fill, y, g):
    return (jnp.where(y != 0, g, 0.0),)


topk_mask.defvjp(tm_fwd, tm_bwd)


@jax.custom_vjp
def cubic_interp(p, t):
    """Catmull-Rom through p (N, D) at positions t (M,) in [0, N - 1]"""
    n = p.shape[0]
    i = jnp.clip(jnp.floor(t).astype(int), 0, n - 2)
    u = t - i
    w = _weights(u)
    idx = jnp.clip(i[:, None] + jnp.arange(-1, 3), 0, n - 1)
    return jnp.einsum("mk,mkd->md", w, p[idx])


def _weights(u):
    return 0.5 * jnp.stack([-u + 2 * u ** 2 - u ** 3, 2 - 5 * u ** 2 + 3 * u ** 3,
                            u + 4 * u ** 2 - 3 * u ** 3, -u ** 2 + u ** 3], -1)


def _dweights(u):
    return 0.5 * jnp.stack([-1 + 4 * u - 3 * u ** 2, -10 * u + 9 * u ** 2,
                            1 + 8 * u - 9 * u ** 2, -2 * u + 2 * u ** 2], -1)


def ci_fwd(p, t):
    return cubic_interp(p, t), (p, t)


def ci_bwd(res, g):
    p, t = res
    n = p.shape[0]
    i = jnp.clip(jnp.floor(t).astype(int), 0, n - 2)
    u = t - i
    idx = jnp.clip(i[:, None] + jnp.arange(-1, 3), 0, n - 1)
    dt = jnp.einsum("mk,mkd,md->m", _dweights(u), p[idx], g)
    dp = jnp.zeros_like(p).at[idx].add(_weights(u)[:, :, None] * g[:, None, :])
    return dp, dt


cubic_interp.defvjp(ci_fwd, ci_bwd)


@jax.custom_vjp
def leapfrog(q, p, omega, dt):
    # one kick-drift-kick step of a harmonic oscillator
    p = p - 0.5 * dt * omega ** 2 * q
    q = q + dt * p
    p = p - 0.5 * dt * omega ** 2 * q
    return q, p


def lf_fwd(q, p, omega, dt):
    assert jnp.shape(q) == jnp.shape(p) and jnp.ndim(omega) == 0 and jnp.ndim(dt) == 0
    ph = p - 0.5 * dt * omega ** 2 * q
    qn = q + dt * ph
    pn = ph - 0.5 * dt * omega ** 2 * qn
    return (qn, pn), (q, ph, qn, omega, dt)


def lf_bwd(res, cts):
    q, ph, qn, omega, dt = res
    gq, gp = cts
    w2 = omega ** 2
    gdt = -0.5 * jnp.sum(gp * w2 * qn)
    gw2 = -0.5 * dt * jnp.sum(gp * qn)
    gqn = gq - 0.5 * dt * w2 * gp
    gph = gp + dt * gqn
    gdt = gdt + jnp.sum(gqn * ph)
    gdt = gdt - 0.5 * jnp.sum(gph * w2 * q)
    gw2 = gw2 - 0.5 * dt * jnp.sum(gph * q)
    return gqn - 0.5 * dt * w2 * gph, gph, gw2 * omega, gdt


leapfrog.defvjp(lf_fwd, lf_bwd)


@jax.custom_vjp
def eig_weighted(a, w):
    """sum_i w_i lambda_i of the symmetric part"""
    s = (a + a.T) / 2
    lam = jnp.linalg.eigvalsh(s)
    return jnp.sum(w * lam)


def ew_fwd(a, w):
    assert a.ndim == 2 and a.shape[0] == a.shape[1] and w.shape == a.shape[:1]
    lam, v = jnp.linalg.eigh((a + a.T) / 2)
    return jnp.sum(w * lam), (lam, v, w)


def ew_bwd(res, g):
    lam, v, w = res
    return g * (v * w) @ v.T, g * lam


eig_weighted.defvjp(ew_fwd, ew_bwd)


@jax.custom_jvp
def bump(x, width):
    r = x / width
    inside = jnp.abs(r) < 1
    safe = jnp.where(inside, r, 0.0)
    return jnp.where(inside, jnp.exp(1 - 1 / (1 - safe ** 2)), 0.0)


@bump.defjvp
def bump_jvp(primals, tangents):
    x, width = primals
    dx, dw = tangents
    y = bump(x, width)
    r = x / width
    safe = jnp.where(jnp.abs(r) < 1, r, 0.0)
    dr = dx / width - x * dw / width
    return y, -y * 2 * safe / (1 - safe ** 2) ** 2 * dr


@jax.custom_vjp
def shifted_relu_sq(x, b):
    return jnp.maximum(x + b, 0) ** 2


def sr_fwd(x, b):
    if b.shape != x.shape[-1:]:
        raise ValueError("bias")
    return shifted_relu_sq(x, b), (x, b)


def sr_bwd(res, g):
    x, b = res
    d = 2 * g * x * (x + b > 0)
    return d, d.reshape(-1, d.shape[-1]).sum(0)


shifted_relu_sq.defvjp(sr_fwd, sr_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def roll_diff(x, lag=1):
    return x - jnp.roll(x, lag, axis=-1)


def rd_fwd(x, lag):
    return roll_diff(x, lag), None


def rd_bwd(lag, _, g):
    return (g - jnp.roll(g, lag, axis=-1),)


roll_diff.defvjp(rd_fwd, rd_bwd)
