"""Fused activations and losses."""
from functools import partial

import jax
import jax.numpy as jnp


def _sum_to(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for i, n in enumerate(shape):
        if n == 1 and g.shape[i] != 1:
            g = g.sum(i, keepdims=True)
    return g


@jax.custom_vjp
def mish(x):
    """Mish activation, x * tanh(softplus(x))."""
    return x * jnp.tanh(jax.nn.softplus(x))


def mish_fwd(x):
    y = x * jnp.tanh(jax.nn.softplus(x))
    return y, y


def mish_bwd(x, g):
    sp = jnp.tanh(jax.nn.softplus(x))
    return (g * (sp + x * jax.nn.sigmoid(x) * (1 - sp**2)),)


mish.defvjp(mish_fwd, mish_bwd)


@jax.custom_vjp
def swiglu(gate, up):
    assert gate.shape == up.shape
    return gate * jax.nn.sigmoid(gate) * up


def swiglu_fwd(gate, up):
    return swiglu(gate, up), (gate, up)


def swiglu_bwd(res, dy):
    gate, up = res
    s = jax.nn.sigmoid(gate)
    silu = gate * s
    dgate = dy * up * (s + silu * (1 - s))
    dup = dy * silu
    return dup, dgate


swiglu.defvjp(swiglu_fwd, swiglu_bwd)


@jax.custom_vjp
def prelu(x, slope):
    return jnp.where(x > 0, x, slope * x)


def _prelu_fwd(x, slope):
    return prelu(x, slope), (x, slope)


def _prelu_bwd(res, ct):
    x, slope = res
    dx = ct * jnp.where(x > 0, 1.0, slope)
    dslope = ct * x
    return _sum_to(dx, x.shape), _sum_to(dslope, jnp.shape(slope))


prelu.defvjp(_prelu_fwd, _prelu_bwd)


SELU_ALPHA = 1.6732632423543772
SELU_SCALE = 1.0507009873554805


@jax.custom_vjp
def selu(x):
    neg = SELU_ALPHA * jnp.expm1(jnp.minimum(x, 0))
    return SELU_SCALE * jnp.where(x > 0, x, neg)


@jax.jit
def _selu_bwd(x, g):
    return (SELU_SCALE * g * jnp.where(x > 0, 1.0, jnp.exp(jnp.minimum(x, 0))),)


selu.defvjp(lambda x: (selu(x), x), _selu_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def softplus(x, beta=2.0, threshold=6.0):
    """log(1 + exp(beta x)) / beta, linear once beta * x passes the threshold."""
    z = beta * x
    safe = jnp.minimum(z, threshold)
    return jnp.where(z > threshold, x, jnp.log1p(jnp.exp(safe)) / beta)


def _sp_fwd(x, beta, threshold):
    return softplus(x, beta, threshold), x


def _sp_bwd(beta, threshold, x, g):
    z = beta * x
    return (jnp.where(z > threshold, beta * g, g * jax.nn.sigmoid(z)),)


softplus.defvjp(_sp_fwd, _sp_bwd)


def _check(logits, labels):
    if logits.ndim != 2 or labels.shape != (logits.shape[0],):
        raise ValueError("logits (n, c), labels (n,)")


@jax.custom_vjp
def cross_entropy(logits, labels):
    """Mean cross entropy, integer labels."""
    _check(logits, labels)
    logp = jax.nn.log_softmax(logits)
    hot = jax.nn.one_hot(labels, logits.shape[1], dtype=logits.dtype)
    return -jnp.mean(jnp.sum(hot * logp, axis=-1))


def cross_entropy_fwd(logits, labels):
    return cross_entropy(logits, labels), (jax.nn.softmax(logits), labels)


def cross_entropy_bwd(res, g):
    p, labels = res
    hot = jax.nn.one_hot(labels, p.shape[1], dtype=p.dtype)
    return g * (p * hot.sum(-1, keepdims=True) - hot), None


cross_entropy.defvjp(cross_entropy_fwd, cross_entropy_bwd)


def _smooth_ce(logits, labels, alpha=0.1):
    _check(logits, labels)
    c = logits.shape[1]
    q = (1 - alpha) * jax.nn.one_hot(labels, c, dtype=logits.dtype) + alpha / c
    return -(q * jax.nn.log_softmax(logits)).sum(-1).mean()


def _smooth_ce_fwd(logits, labels, alpha):
    return _smooth_ce(logits, labels, alpha), (jax.nn.softmax(logits), labels)


def _smooth_ce_bwd(alpha, res, g):
    p, labels = res
    n, c = p.shape
    hot = jax.nn.one_hot(labels, c, dtype=p.dtype)
    return (p - hot) * g / n, None


label_smoothing_loss = jax.custom_vjp(_smooth_ce, nondiff_argnums=(2,))
label_smoothing_loss.defvjp(_smooth_ce_fwd, _smooth_ce_bwd)


@jax.custom_vjp
def weighted_bce(z, t, w):
    if not (z.shape == t.shape == w.shape):
        raise ValueError("shapes differ")
    per = jax.nn.softplus(z) - t * z
    return (w * per).sum() / w.sum()


def _wb_fwd(z, t, w):
    per = jax.nn.softplus(z) - t * z
    return weighted_bce(z, t, w), (z, t, w, per)


def _wb_bwd(res, g):
    z, t, w, per = res
    g = g / w.sum()
    return g * w * (jax.nn.sigmoid(z) - t), -g * w * z, g * per


weighted_bce.defvjp(_wb_fwd, _wb_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def huber(pred, target, delta=1.0):
    """Mean Huber loss."""
    if pred.shape != target.shape:
        raise ValueError("pred and target")
    r = jnp.abs(pred - target)
    q = jnp.minimum(r, delta)
    return jnp.mean(0.5 * q * q + delta * (r - q))


def _huber_fwd(pred, target, delta):
    return huber(pred, target, delta), jnp.clip(pred - target, -delta, delta)


def _huber_bwd(delta, d, g):
    d = d / d.size
    return d, -d


huber.defvjp(_huber_fwd, _huber_bwd)
