import functools
import jax
import jax.numpy as jnp
from jax import lax


def _sym(m):
    return 0.5 * (m + jnp.swapaxes(m, -1, -2))


@jax.custom_vjp
def spd_sqrt(a):
    lam, q = jnp.linalg.eigh(_sym(a))
    return (q * jnp.sqrt(lam)[..., None, :]) @ jnp.swapaxes(q, -1, -2)


def spd_sqrt_fwd(a):
    lam, q = jnp.linalg.eigh(_sym(a))
    return (q * jnp.sqrt(lam)[..., None, :]) @ jnp.swapaxes(q, -1, -2), (lam, q)


def spd_sqrt_bwd(res, g):
    lam, q = res
    qt = jnp.swapaxes(q, -1, -2)
    r = jnp.sqrt(lam)
    m = qt @ _sym(g) @ q
    return (q @ (m / (r[..., :, None] + r[..., None, :])) @ qt,)


spd_sqrt.defvjp(spd_sqrt_fwd, spd_sqrt_bwd)


@jax.custom_vjp
def chol_quad(L, x):
    """|L^-1 x|^2 with L lower triangular (only its lower part is read)"""
    z = jax.scipy.linalg.solve_triangular(L, x, lower=True)
    return jnp.sum(z * z)


def cq_fwd(L, x):
    z = jax.scipy.linalg.solve_triangular(L, x, lower=True)
    return jnp.sum(z * z), (L, z)


def cq_bwd(res, g):
    L, z = res
    w = jax.scipy.linalg.solve_triangular(L, z, lower=True, trans=1)
    if z.ndim == 1:
        dL = -2 * g * jnp.outer(w, z)
    else:
        dL = -2 * g * w @ z.T
    return jnp.tril(dL), 2 * g * w


chol_quad.defvjp(cq_fwd, cq_bwd)


# log-domain HMM forward filter
@jax.custom_vjp
def hmm_loglik(log_pi, log_A, log_B):
    """log_pi (S,), log_A (S, S) from -> to, log_B (T, S)"""
    def step(a, b):
        return jax.nn.logsumexp(a[:, None] + log_A, axis=0) + b, None
    a, _ = lax.scan(step, log_pi + log_B[0], log_B[1:])
    return jax.nn.logsumexp(a)


def hmm_fwd(log_pi, log_A, log_B):
    def step(a, b):
        n = jax.nn.logsumexp(a[:, None] + log_A, axis=0) + b
        return n, n
    a0 = log_pi + log_B[0]
    last, rest = lax.scan(step, a0, log_B[1:])
    alphas = jnp.concatenate([a0[None], rest])
    z = jax.nn.logsumexp(last)
    return z, (log_A, log_B, alphas, z)


def hmm_bwd(res, g):
    log_A, log_B, alphas, z = res

    def step(beta, inp):
        a, b = inp
        nb = b + beta
        xi = jnp.exp(a[:, None] + log_A + nb[None] - z)
        return jax.nn.logsumexp(log_A + nb[None], axis=1), xi
    beta0, xis = lax.scan(step, jnp.zeros_like(alphas[0]), (alphas[:-1], log_B[1:]), reverse=True)
    gamma0 = jnp.exp(alphas[0] + beta0 - z)
    gam = jnp.concatenate([gamma0[None], xis.sum(1)])
    return g * gamma0, g * xis.sum(0), g * gam


hmm_loglik.defvjp(hmm_fwd, hmm_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def dilated_diff(x, w, dilation=1):
    """y[t] = w0 x[t] + w1 x[t - dilation], zero history"""
    past = jnp.concatenate([jnp.zeros_like(x[..., :dilation]), x], -1)[..., : x.shape[-1]]
    return w[0] * x + w[1] * past


def dd_fwd(x, w, dilation):
    assert w.shape == (2,)
    return dilated_diff(x, w, dilation), (x, w)


def dd_bwd(dilation, res, g):
    x, w = res
    fut = jnp.concatenate([g[..., 1:], jnp.zeros_like(g[..., :1])], -1)
    past = jnp.concatenate([jnp.zeros_like(x[..., :dilation]), x], -1)[..., : x.shape[-1]]
    return w[0] * g + w[1] * fut, jnp.stack([jnp.sum(g * x), jnp.sum(g * past)])


dilated_diff.defvjp(dd_fwd, dd_bwd)


@jax.custom_vjp
def emb_maxnorm(table, ids):
    """rows longer than 1 are scaled to length 1"""
    r = table[ids]
    n = jnp.linalg.norm(r, axis=-1, keepdims=True)
    return jnp.where(n > 1, r / jnp.where(n > 1, n, 1.0), r)


def em_fwd(table, ids):
    return emb_maxnorm(table, ids), (table, ids)


def em_bwd(res, g):
    table, ids = res
    r = table[ids]
    n = jnp.linalg.norm(r, axis=-1, keepdims=True)
    ns = jnp.where(n > 1, n, 1.0)
    u = r / ns
    d = jnp.where(n > 1, (g - u * jnp.sum(u * g, -1, keepdims=True)) / ns, g)
    return jnp.zeros_like(table).at[ids].add(d), None


emb_maxnorm.defvjp(em_fwd, em_bwd)


@jax.custom_vjp
def huber_tv(x, delta):
    d = jnp.diff(x, axis=-1)
    a = jnp.abs(d)
    return jnp.sum(jnp.where(a < delta, 0.5 * d * d / delta, a - 0.5 * delta))


def ht_fwd(x, delta):
    return huber_tv(x, delta), (x, delta)


def ht_bwd(res, g):
    x, delta = res
    d = jnp.diff(x, axis=-1)
    s = jnp.clip(d / delta, -1, 1) * g
    z = jnp.zeros_like(x[..., :1])
    dx = jnp.concatenate([z, s], -1) - jnp.concatenate([s, z], -1)
    a = jnp.abs(d)
    dd = jnp.sum(jnp.where(a < delta, -0.5 * d * d / delta ** 2, 0.5)) * g
    return dx, dd


huber_tv.defvjp(ht_fwd, ht_bwd)


@jax.custom_vjp
def circ_corr(a, b):
    """circular correlation by fft, last axis (holographic embeddings)"""
    n = a.shape[-1]
    return jnp.fft.irfft(jnp.conj(jnp.fft.rfft(a)) * jnp.fft.rfft(b), n)


def cc_fwd(a, b):
    if a.shape != b.shape:
        raise ValueError("shapes")
    return circ_corr(a, b), (a, b)


def cc_bwd(res, g):
    a, b = res
    n = a.shape[-1]
    fa, fb, fg = jnp.fft.rfft(a), jnp.fft.rfft(b), jnp.fft.rfft(g)
    da = jnp.fft.irfft(jnp.conj(fg) * fb, n)
    db = jnp.fft.irfft(jnp.conj(fa) * fg, n)
    return da, db


circ_corr.defvjp(cc_fwd, cc_bwd)


@jax.custom_jvp
def smooth_max2(a, b, beta):
    """(a e^{beta a} + b e^{beta b}) / (e^{beta a} + e^{beta b})"""
    s = jax.nn.sigmoid(beta * (a - b))
    return s * a + (1 - s) * b


@smooth_max2.defjvp
def _sm2(p, t):
    a, b, beta = p
    da, db, dbeta = t
    s = jax.nn.sigmoid(beta * (a - b))
    k = s * (1 - s)
    u = k * beta * (a - b)
    return smooth_max2(a, b, beta), (s + u) * da + (1 - s - u) * db + k * (a - b) ** 2 * dbeta


@jax.custom_jvp
def log_ndtr_diff(a, b):
    """log(Phi(b) - Phi(a)), a < b"""
    return jnp.log(jax.scipy.stats.norm.cdf(b) - jax.scipy.stats.norm.cdf(a))


@log_ndtr_diff.defjvp
def _lnd(p, t):
    a, b = p
    da, db = t
    y = log_ndtr_diff(a, b)
    pdf = jax.scipy.stats.norm.pdf
    return y, (pdf(b) * db + pdf(a) * da) * jnp.exp(-y)


@jax.custom_jvp
def norm2(v):
    return jnp.sqrt(jnp.sum(v ** 2, -1))


@norm2.defjvp
def _n2(p, t):
    v, = p
    dv, = t
    n = norm2(v)
    safe = jnp.where(n > 0, n, 1.0)
    return n, jnp.sum(v * dv, -1) / safe
