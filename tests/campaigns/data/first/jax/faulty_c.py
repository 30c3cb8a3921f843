"""Sequence ops."""
import functools

import jax
import jax.numpy as jnp
from jax import lax


@jax.custom_vjp
def lookup(table, ids):
    """Rows of an embedding table; ids outside are clipped."""
    return table[jnp.clip(ids, 0, table.shape[0] - 1)]


def _lookup_fwd(table, ids):
    ids = jnp.clip(ids, 0, table.shape[0] - 1)
    return table[ids], (ids, jnp.zeros_like(table))


def _lookup_bwd(res, g):
    ids, zeros = res
    return zeros.at[ids].set(g), None


lookup.defvjp(_lookup_fwd, _lookup_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def segment_mean(data, seg, num_segments):
    if seg.shape != data.shape[:1] or data.ndim != 2:
        raise ValueError("data (n, d), seg (n,)")
    onehot = (seg[None, :] == jnp.arange(num_segments)[:, None]).astype(data.dtype)
    count = jnp.maximum(onehot.sum(1, keepdims=True), 1)
    return onehot @ data / count


def _sm_fwd(data, seg, num_segments):
    return segment_mean(data, seg, num_segments), seg


def _sm_bwd(num_segments, seg, g):
    onehot = (seg[:, None] == jnp.arange(num_segments)[None, :]).astype(g.dtype)
    return onehot @ g, None


segment_mean.defvjp(_sm_fwd, _sm_bwd)


@jax.custom_vjp
def ssm_scan(a, b, h0):
    """Diagonal recurrence h[t] = a[t] * h[t-1] + b[t], all states returned."""
    if a.shape != b.shape or h0.shape != a.shape[1:]:
        raise ValueError("a, b (T, ...), h0 (...)")

    def step(h, inp):
        h = inp[0] * h + inp[1]
        return h, h

    return lax.scan(step, h0, (a, b))[1]


def _ssm_fwd(a, b, h0):
    hs = ssm_scan(a, b, h0)
    return hs, (a, hs)


def _ssm_bwd(res, g):
    a, hs = res

    def step(carry, inp):
        at, ht, gt = inp
        carry = carry + gt
        return at * carry, (carry * ht, carry)

    dh0, (da, db) = lax.scan(step, jnp.zeros_like(g[0]), (a, hs, g), reverse=True)
    return da, db, dh0


ssm_scan.defvjp(_ssm_fwd, _ssm_bwd)


def _discount(r, gamma):
    def step(acc, x):
        acc = x + gamma * acc
        return acc, acc

    return lax.scan(step, jnp.zeros_like(r[0]), r, reverse=True)[1]


@jax.custom_vjp
def discounted_returns(r, gamma):
    """G[t] = r[t] + gamma * G[t+1]; gamma is a scalar."""
    if jnp.ndim(gamma):
        raise ValueError("gamma must be a scalar")
    return _discount(r, gamma)


def _dr_fwd(r, gamma):
    G = _discount(r, gamma)
    return G, (G, gamma)


def _dr_bwd(res, ct):
    G, gamma = res
    fwd = lambda acc, x: (x + gamma * acc,) * 2
    dr = lax.scan(fwd, jnp.zeros_like(ct[0]), ct, reverse=True)[1]
    lam = lax.scan(fwd, jnp.zeros_like(ct[0]), ct)[1]
    dgamma = jnp.sum(lam[:-1] * G[1:])
    return dr, dgamma


discounted_returns.defvjp(_dr_fwd, _dr_bwd)


@jax.custom_vjp
def conv1d_valid(x, w):
    """Cross-correlation out[i] = sum_j x[i + j] w[j]."""
    if x.ndim != 1 or w.ndim != 1 or w.shape[0] > x.shape[0]:
        raise ValueError("x (n,), w (k,) with k <= n")
    return jnp.correlate(x, w, mode="valid")


def _conv_fwd(x, w):
    return conv1d_valid(x, w), (x, w)


@jax.jit
def _conv_bwd(res, g):
    x, w = res
    dx = jnp.convolve(g, w, mode="full")
    dw = jnp.correlate(x, g, mode="valid")
    return dx, dw[::-1]


conv1d_valid.defvjp(_conv_fwd, _conv_bwd)


@jax.custom_vjp
def leapfrog(state, dt):
    """One kick-drift-kick step of a pendulum. state = {"q": ..., "p": ...}."""
    q, p = state["q"], state["p"]
    if q.shape != p.shape or jnp.ndim(dt):
        raise ValueError("q and p need one shape, dt is a scalar")
    ph = p - 0.5 * dt * jnp.sin(q)
    qn = q + dt * ph
    return {"q": qn, "p": ph - 0.5 * dt * jnp.sin(qn)}


def _lf_fwd(state, dt):
    out = leapfrog(state, dt)
    ph = state["p"] - 0.5 * dt * jnp.sin(state["q"])
    return out, (state["q"], ph, out["q"], dt)


def _lf_bwd(res, ct):
    q, ph, qn, dt = res
    gq, gp = ct["q"], ct["p"]
    gqn = gq - 0.5 * dt * jnp.cos(qn) * gp
    gph = gp + dt * gqn
    ddt = jnp.sum(-0.5 * jnp.sin(qn) * gp + ph * gqn)
    return {"q": gqn - 0.5 * dt * jnp.cos(q) * gph, "p": gph}, ddt


leapfrog.defvjp(_lf_fwd, _lf_bwd)


@jax.custom_jvp
def phi1(z):
    """(exp(z) - 1) / z, series near the origin (exponential integrators)."""
    near = jnp.abs(z) < 1.0
    zs = jnp.where(near, 1.0, z)
    z = jnp.where(near, z, 0.0)
    series = 1 + z / 2 + z**2 / 6 + z**3 / 24 + z**4 / 120 + z**5 / 720 + z**6 / 5040
    series = series + z**7 / 40320
    return jnp.where(near, series, jnp.expm1(zs) / zs)


@phi1.defjvp
def _phi1_jvp(primals, tangents):
    (z,), (dz,) = primals, tangents
    near = jnp.abs(z) < 1.0
    zs = jnp.where(near, 1.0, z)
    d_series = 0.5 + z / 6 + z**2 / 24 + z**3 / 120 + z**4 / 720 + z**5 / 5040 + z**6 / 40320
    d_far = (jnp.exp(zs) - jnp.expm1(zs) / zs) / zs
    return phi1(z), dz * jnp.where(near, d_series, d_far)


@jax.custom_jvp
def erfcx(x):
    """Scaled complementary error function exp(x^2) erfc(x)."""
    return jnp.exp(x * x) * jax.scipy.special.erfc(x)


erfcx.defjvps(lambda t, y, x: t * (2 * x * y + 2 / jnp.sqrt(jnp.pi)))
