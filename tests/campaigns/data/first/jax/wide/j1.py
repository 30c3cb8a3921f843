from functools import partial
import jax
import jax.numpy as jnp
from jax import lax


# --- masked mean pooling over tokens -------------------------------------------------
@jax.custom_vjp
def masked_pool(x, mask):
    if x.ndim != 3 or mask.shape != x.shape[:2]:
        raise ValueError("x (B,T,D), mask (B,T)")
    m = mask.astype(x.dtype)
    return jnp.einsum("btd,bt->bd", x, m) / jnp.maximum(m.sum(1), 1.0)[:, None]


def _mp_fwd(x, mask):
    return masked_pool(x, mask), (mask, x.shape)


def _mp_bwd(res, g):
    mask, shape = res
    m = mask.astype(g.dtype)
    w = m / jnp.maximum(m.sum(1), 1.0)[:, None]
    return w[:, :, None] * g[:, None, :], None


masked_pool.defvjp(_mp_fwd, _mp_bwd)


# --- Givens / plane rotation ----------------------------------------------------------
@jax.custom_vjp
def plane_rotate(theta, xy):
    c, s = jnp.cos(theta), jnp.sin(theta)
    x, y = xy[..., 0], xy[..., 1]
    return jnp.stack([c * x - s * y, s * x + c * y], -1)


def _pr_fwd(theta, xy):
    if theta.shape != xy.shape[:-1] or xy.shape[-1] != 2:
        raise ValueError("one angle per point")
    out = plane_rotate(theta, xy)
    return out, (theta, out)


def _pr_bwd(res, g):
    theta, out = res
    c, s = jnp.cos(theta), jnp.sin(theta)
    gx, gy = g[..., 0], g[..., 1]
    dtheta = -gx * out[..., 1] + gy * out[..., 0]
    return dtheta, jnp.stack([c * gx + s * gy, -s * gx + c * gy], -1)


plane_rotate.defvjp(_pr_fwd, _pr_bwd)


# --- solve with Tikhonov ---------------------------------------------------------------
@partial(jax.custom_vjp, nondiff_argnums=(2,))
def ridge_solve(a, b, lam=0.1):
    n = a.shape[-1]
    return jnp.linalg.solve(a.T @ a + lam * jnp.eye(n), a.T @ b)


def ridge_fwd(a, b, lam):
    w = ridge_solve(a, b, lam)
    return w, (a, b, w)


def ridge_bwd(lam, res, g):
    a, b, w = res
    n = a.shape[-1]
    u = jnp.linalg.solve(a.T @ a + lam * jnp.eye(n), g)
    db = a @ u
    r = b - a @ w
    if w.ndim == 1:
        da = jnp.outer(r, u) - jnp.outer(a @ u, w)
    else:
        da = r @ u.T - (a @ u) @ w.T
    return da, db


ridge_solve.defvjp(ridge_fwd, ridge_bwd)


# --- exponential moving average along the last axis --------------------------------------
@jax.custom_vjp
def ema(x, alpha):
    def step(c, v):
        c = (1 - alpha) * c + alpha * v
        return c, c
    _, y = lax.scan(step, x[..., 0], jnp.moveaxis(x, -1, 0))
    return jnp.moveaxis(y, 0, -1)


def ema_fwd(x, alpha):
    y = ema(x, alpha)
    return y, (x, y, alpha)


def ema_bwd(res, g):
    x, y, alpha = res
    gT = jnp.moveaxis(g, -1, 0)

    def back(c, gi):
        c = gi + (1 - alpha) * c
        return c, c
    _, adj = lax.scan(back, jnp.zeros_like(gT[0]), gT, reverse=True)
    adj = jnp.moveaxis(adj, 0, -1)
    dx = alpha * adj
    prev = jnp.concatenate([x[..., :1], y[..., :-1]], -1)
    dalpha = jnp.sum(adj * (x - prev))
    return dx, dalpha


ema.defvjp(ema_fwd, ema_bwd)


# --- sinh-arcsinh warp --------------------------------------------------------------------
@jax.custom_vjp
def sas(x, skew, tail):
    return jnp.sinh(tail * jnp.arcsinh(x) + skew)


def sas_fwd(x, skew, tail):
    if skew.shape != () or tail.shape != ():
        raise ValueError("scalars")
    z = tail * jnp.arcsinh(x) + skew
    return jnp.sinh(z), (x, z, tail)


def sas_bwd(res, ct):
    x, z, tail = res
    k = ct * jnp.cosh(z)
    return k * tail / jnp.sqrt(1 + x * x), jnp.sum(k), jnp.sum(k * jnp.arcsinh(x))


sas.defvjp(sas_fwd, sas_bwd)


# --- log-domain matmul ------------------------------------------------------------------
@jax.custom_vjp
def log_matmul(la, lb):
    return jax.nn.logsumexp(la[:, :, None] + lb[None, :, :], axis=1)


def lm_fwd(la, lb):
    out = log_matmul(la, lb)
    return out, (la, lb, out)


def lm_bwd(res, g):
    la, lb, out = res
    p = jnp.exp(la[:, :, None] + lb[None] - out[:, None, :]) * g[:, None, :]
    return p.sum(2), p.sum(0)


log_matmul.defvjp(lm_fwd, lm_bwd)


# --- cumulative log-sum-exp -----------------------------------------------------------------
@jax.custom_vjp
def cum_lse(x):
    return lax.cumlogsumexp(x, axis=x.ndim - 1)


def _cl_fwd(x):
    y = cum_lse(x)
    return y, (x, y)


def _cl_bwd(res, g):
    x, y = res
    inner = lax.cumsum(g * jnp.exp(-y), axis=g.ndim - 1)
    return (jnp.exp(x) * inner,)


cum_lse.defvjp(_cl_fwd, _cl_bwd)


# --- logit adjusted by class prior, gathered ---------------------------------------------------
@jax.custom_vjp
def prior_nll(logits, labels, logprior):
    z = logits + logprior
    lp = jax.nn.log_softmax(z, -1)
    return -jnp.mean(jnp.take_along_axis(lp, labels[:, None], 1))


def _pn_fwd(logits, labels, logprior):
    if logits.ndim != 2 or labels.shape != logits.shape[:1] or logprior.shape != logits.shape[1:]:
        raise TypeError("prior_nll: shapes")
    return prior_nll(logits, labels, logprior), (logits, labels, logprior)


def _pn_bwd(res, g):
    logits, labels, logprior = res
    p = jax.nn.softmax(logits, -1)
    d = (p - jax.nn.one_hot(labels, logits.shape[-1], dtype=p.dtype)) * g / logits.shape[0]
    return d, None, d.sum(0)


prior_nll.defvjp(_pn_fwd, _pn_bwd)
