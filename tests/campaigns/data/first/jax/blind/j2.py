from functools import partial

import jax
import jax.numpy as jnp


def _labelled(logits, labels):
    if logits.ndim != 2 or labels.ndim != 1 or labels.shape[0] != logits.shape[0]:
        raise ValueError("expected (N, C) and labels (N,)")
    if not jnp.issubdtype(labels.dtype, jnp.integer):
        raise TypeError("labels are integers")


@jax.custom_vjp
def xent_mean(logits, labels):
    _labelled(logits, labels)
    logp = jax.nn.log_softmax(logits, axis=1)
    hot = jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype)
    return -(hot * logp).sum() / logits.shape[0]


def xent_mean_fwd(logits, labels):
    return xent_mean(logits, labels), (logits, labels)


def xent_mean_bwd(res, g):
    logits, labels = res
    hot = jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype)
    p = jax.nn.softmax(logits, axis=1)
    return g * (p * hot.sum(1, keepdims=True) - hot) / logits.shape[0], None


xent_mean.defvjp(xent_mean_fwd, xent_mean_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def poly_xent(logits, labels, eps=1.0):
    _labelled(logits, labels)
    hot = jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype)
    logp = jax.nn.log_softmax(logits, axis=1)
    pt = (hot * jnp.exp(logp)).sum(1)
    return -(hot * logp).sum(1) + eps * (1 - pt)


def poly_xent_fwd(logits, labels, eps):
    return poly_xent(logits, labels, eps), (logits, labels)


def poly_xent_bwd(eps, res, g):
    logits, labels = res
    hot = jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype)
    p = jax.nn.softmax(logits, axis=1)
    d = (p - hot) + eps * (p - hot)
    return g[:, None] * d, None


poly_xent.defvjp(poly_xent_fwd, poly_xent_bwd)


@jax.custom_vjp
def info_nce(a, b, temp):
    if a.ndim != 2 or a.shape != b.shape or temp.ndim:
        raise ValueError("expected a (N, D), b (N, D) and one number")
    logp = jax.nn.log_softmax(a @ b.T / temp, axis=1)
    return -jnp.diagonal(logp).mean()


def info_nce_fwd(a, b, temp):
    return info_nce(a, b, temp), (a, b, temp)


def info_nce_bwd(res, g):
    a, b, temp = res
    n = a.shape[0]
    z = a @ b.T / temp
    dz = g * (jax.nn.softmax(z, axis=1) - jnp.eye(n, dtype=a.dtype)) / n
    return dz @ b / temp, dz.T @ a / temp, -(dz * z).sum() / temp


info_nce.defvjp(info_nce_fwd, info_nce_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def huber_mean(pred, target, delta=1.0):
    if pred.shape != target.shape:
        raise ValueError("shapes differ")
    d = pred - target
    a = jnp.abs(d)
    return jnp.where(a <= delta, 0.5 * d * d, delta * (a - 0.5 * delta)).mean()


def huber_mean_fwd(pred, target, delta):
    return huber_mean(pred, target, delta), (pred, target)


def huber_mean_bwd(delta, res, g):
    d = res[0] - res[1]
    s = jnp.where(jnp.abs(d) <= delta, d, jnp.sign(d)) * g / d.size
    return s, -s


huber_mean.defvjp(huber_mean_fwd, huber_mean_bwd)


@jax.custom_vjp
def kl_diag_gauss(mu1, ls1, mu2, ls2):
    if not mu1.shape == ls1.shape == mu2.shape == ls2.shape or mu1.ndim < 1:
        raise ValueError("four arrays of one shape")
    r = jnp.exp(2 * (ls1 - ls2))
    return (ls2 - ls1 + 0.5 * (r + (mu1 - mu2) ** 2 * jnp.exp(-2 * ls2)) - 0.5).sum(-1)


def kl_fwd(mu1, ls1, mu2, ls2):
    return kl_diag_gauss(mu1, ls1, mu2, ls2), (mu1, ls1, mu2, ls2)


def kl_bwd(res, g):
    mu1, ls1, mu2, ls2 = res
    g = g[..., None]
    r = jnp.exp(2 * (ls1 - ls2))
    w = jnp.exp(-2 * ls2)
    d = (mu1 - mu2) * w
    return g * d, g * (r - 1), -g * d, g * (1 - r - (mu1 - mu2) * d)


kl_diag_gauss.defvjp(kl_fwd, kl_bwd)


@jax.custom_vjp
def poisson_nll(log_rate, counts):
    if log_rate.shape != counts.shape:
        raise ValueError("shapes differ")
    return (jnp.exp(log_rate) - counts * log_rate).sum()


def poisson_nll_fwd(log_rate, counts):
    return poisson_nll(log_rate, counts), (log_rate, counts)


def poisson_nll_bwd(res, g):
    log_rate, counts = res
    dc = -g * log_rate if jnp.issubdtype(counts.dtype, jnp.floating) else None
    return g * (jnp.exp(log_rate) - counts), dc


poisson_nll.defvjp(poisson_nll_fwd, poisson_nll_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def tversky(p, t, alpha=0.5, beta=0.5):
    if p.shape != t.shape:
        raise ValueError("shapes differ")
    tp = (p * t).sum()
    return 1 - (tp + 1) / (tp + alpha * (p * (1 - t)).sum() + beta * ((1 - p) * t).sum() + 1)


def tversky_fwd(p, t, alpha, beta):
    return tversky(p, t, alpha, beta), (p, t)


def tversky_bwd(alpha, beta, res, g):
    p, t = res
    tp = (p * t).sum()
    n, d = tp + 1, tp + alpha * (p * (1 - t)).sum() + beta * ((1 - p) * t).sum() + 1
    dp = -t / d + n / d ** 2 * (t + beta * (1 - t) - alpha * t)
    dt = -p / d + n / d ** 2 * (p - beta * p + alpha * (1 - p))
    return g * dp, g * dt


tversky.defvjp(tversky_fwd, tversky_bwd)


@jax.custom_vjp
def ranknet(s, y):
    if s.ndim != 1 or s.shape != y.shape:
        raise ValueError("expected s (N,) and y (N,)")
    w = (y[:, None] > y[None, :]).astype(s.dtype)
    return (w * jax.nn.softplus(s[None, :] - s[:, None])).sum()


def ranknet_fwd(s, y):
    return ranknet(s, y), (s, y)


def ranknet_bwd(res, g):
    s, y = res
    w = (y[:, None] > y[None, :]).astype(s.dtype)
    m = w * jax.nn.sigmoid(s[None, :] - s[:, None])
    return g * (m.sum(0) - m.sum(1)), None


ranknet.defvjp(ranknet_fwd, ranknet_bwd)


@jax.custom_vjp
def ordinal_loss(score, cuts, labels):
    if score.ndim != 1 or cuts.ndim != 1 or labels.shape != score.shape:
        raise ValueError("expected score (N,), cuts (K,), labels (N,)")
    if not jnp.issubdtype(labels.dtype, jnp.integer):
        raise TypeError("labels are integers")
    sgn = jnp.where(labels[:, None] <= jnp.arange(cuts.shape[0]), 1.0, -1.0)
    return jax.nn.softplus(-sgn * (cuts[None, :] - score[:, None])).sum() / score.shape[0]


def ordinal_fwd(score, cuts, labels):
    return ordinal_loss(score, cuts, labels), (score, cuts, labels)


def ordinal_bwd(res, g):
    score, cuts, labels = res
    sgn = jnp.where(labels[:, None] <= jnp.arange(cuts.shape[0]), 1.0, -1.0)
    d = -sgn * jax.nn.sigmoid(-sgn * (cuts[None, :] - score[:, None])) * g
    return -d.sum(1) / score.shape[0], d.sum(0), None


ordinal_loss.defvjp(ordinal_fwd, ordinal_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def margin_xent(cos, labels, m=0.3, s=4.0):
    _labelled(cos, labels)
    hot = jax.nn.one_hot(labels, cos.shape[1], dtype=cos.dtype)
    logp = jax.nn.log_softmax(s * (cos - m * hot), axis=1)
    return -(hot * logp).sum(1)


def margin_xent_fwd(cos, labels, m, s):
    return margin_xent(cos, labels, m, s), (cos, labels)


def margin_xent_bwd(m, s, res, g):
    cos, labels = res
    hot = jax.nn.one_hot(labels, cos.shape[1], dtype=cos.dtype)
    p = jax.nn.softmax(s * cos, axis=1)
    return g[:, None] * s * (p - hot), None


margin_xent.defvjp(margin_xent_fwd, margin_xent_bwd)


@jax.custom_vjp
def masked_mse(x, y, mask):
    if x.shape != y.shape or x.shape != mask.shape or mask.dtype != jnp.bool_:
        raise ValueError("expected x, y and a boolean mask of one shape")
    n = jnp.maximum(mask.sum(), 1)
    return jnp.where(mask, (x - y) ** 2, 0.0).sum() / n


def masked_mse_fwd(x, y, mask):
    return masked_mse(x, y, mask), (x, y, mask)


def masked_mse_bwd(res, g):
    x, y, mask = res
    d = jnp.where(mask, 2 * g * (x - y) / jnp.maximum(mask.sum(), 1), 0.0)
    return d, -d, None


masked_mse.defvjp(masked_mse_fwd, masked_mse_bwd)
