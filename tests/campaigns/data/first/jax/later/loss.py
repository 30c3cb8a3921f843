from functools import partial

import jax
import jax.numpy as jnp


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def poisson_nll(pred, target, log_input=True):
    if log_input:
        return jnp.mean(jnp.exp(pred) - target * pred)
    return jnp.mean(pred - target * jnp.log(pred))


def _pn_fwd(pred, target, log_input):
    return poisson_nll(pred, target, log_input), (pred, target)


def _pn_bwd(log_input, res, g):
    pred, target = res
    n = pred.size
    if log_input:
        return g * (jnp.exp(pred) - target) / n, -g * pred / n
    return g * (1 - target / pred) / n, -g * pred / n


poisson_nll.defvjp(_pn_fwd, _pn_bwd)


@jax.custom_vjp
def info_nce(za, zb, logit_scale):
    """Symmetric contrastive loss of CLIP over a batch of pairs."""
    s = jnp.exp(logit_scale) * za @ zb.T
    d = jnp.diagonal(s)
    return 0.5 * (jnp.mean(jax.nn.logsumexp(s, 0) - d) + jnp.mean(jax.nn.logsumexp(s, 1) - d))


def _in_fwd(za, zb, logit_scale):
    return info_nce(za, zb, logit_scale), (za, zb, logit_scale)


def _in_bwd(res, g):
    za, zb, ls = res
    t = jnp.exp(ls)
    s = t * za @ zb.T
    n = s.shape[0]
    ds = g * 0.5 / n * (jax.nn.softmax(s, 0) + jax.nn.softmax(s, 1) - 2 * jnp.eye(n))
    return t * ds @ zb, t * ds.T @ za, (ds * s).sum()


info_nce.defvjp(_in_fwd, _in_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def dice_loss(prob, target, smooth=1.0):
    ax = tuple(range(1, prob.ndim))
    inter = (prob * target).sum(ax)
    total = prob.sum(ax) + target.sum(ax)
    return 1 - jnp.mean((2 * inter + smooth) / (total + smooth))


def _dl_fwd(prob, target, smooth):
    return dice_loss(prob, target, smooth), (prob, target)


def _dl_bwd(smooth, res, g):
    p, t = res
    ax = tuple(range(1, p.ndim))
    inter = (p * t).sum(ax, keepdims=True)
    total = p.sum(ax, keepdims=True) + t.sum(ax, keepdims=True) + smooth
    num = 2 * inter + smooth
    c = -g / p.shape[0]
    return c * (2 * t / total - num / total**2), c * (2 * p / total - num / total**2)


dice_loss.defvjp(_dl_fwd, _dl_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def wing_loss(pred, target, w=10.0, eps=2.0):
    a = jnp.abs(pred - target)
    c = w - w * jnp.log(1 + w / eps)
    return jnp.where(a < w, w * jnp.log(1 + a / eps), a - c)


def wl_fwd(pred, target, w, eps):
    return wing_loss(pred, target, w, eps), (pred, target)


def wl_bwd(w, eps, res, g):
    pred, target = res
    d = pred - target
    a = jnp.abs(d)
    u = g * jnp.where(a < w, w / (eps + a), 1.0) * jnp.sign(d)
    return u, -u


wing_loss.defvjp(wl_fwd, wl_bwd)


@jax.custom_vjp
def cox_nll(risk, event):
    """Negative partial log-likelihood; rows sorted by falling time."""
    lse = jax.lax.cumlogsumexp(risk, axis=0)
    return -((risk - lse) * event).sum() / event.sum()


def cox_fwd(risk, event):
    return cox_nll(risk, event), (risk, event)


def cox_bwd(res, g):
    r, e = res
    lse = jax.lax.cumlogsumexp(r, axis=0)
    # weight of row j: sum over i >= j of e_i exp(r_j - lse_i)
    i = jnp.arange(r.shape[0])
    w = jnp.where(i[:, None] > i, e[:, None] * jnp.exp(jnp.minimum(r[None, :] - lse[:, None], 0)), 0).sum(0)
    return g * (w - e) / e.sum(), None


cox_nll.defvjp(cox_fwd, cox_bwd)


@jax.custom_vjp
def multi_margin(scores, y):
    """Mean over rows of sum_{j != y} max(0, 1 + s_j - s_y)^2 / C."""
    n, c = scores.shape
    sy = jnp.take_along_axis(scores, y[:, None], 1)
    m = jnp.maximum(1 + scores - sy, 0) * (jnp.arange(c) != y[:, None])
    return (m**2).sum() / (n * c)


def mm_fwd(scores, y):
    return multi_margin(scores, y), (scores, y)


def mm_bwd(res, g):
    s, y = res
    n, c = s.shape
    own = jnp.arange(c) == y[:, None]
    sy = jnp.take_along_axis(s, y[:, None], 1)
    d = 2 * jnp.where(own, 0, jnp.maximum(1 + s - sy, 0))
    d = d - own * (d > 0).sum(1, keepdims=True)
    return g * d / (n * c), None


multi_margin.defvjp(mm_fwd, mm_bwd)
