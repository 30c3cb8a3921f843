"""Activations and losses with hand written backward passes."""
import functools

import jax
import jax.numpy as jnp


def _unbroadcast(g, shape):
    extra = g.ndim - len(shape)
    if extra:
        g = g.sum(axis=tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and g.shape[i] != 1)
    return g.sum(axis=axes, keepdims=True) if axes else g


@jax.custom_vjp
def mish(x):
    """x * tanh(softplus(x)), keeps only x for the backward."""
    return x * jnp.tanh(jax.nn.softplus(x))


def _mish_fwd(x):
    return mish(x), x


def _mish_bwd(x, g):
    t = jnp.tanh(jax.nn.softplus(x))
    return (g * (t + x * jax.nn.sigmoid(x) * (1.0 - t * t)),)


mish.defvjp(_mish_fwd, _mish_bwd)


def _swiglu(gate, up):
    if gate.shape != up.shape:
        raise ValueError(f"swiglu: gate {gate.shape} and up {up.shape} differ")
    return jax.nn.silu(gate) * up


def _swiglu_fwd(gate, up):
    return _swiglu(gate, up), (gate, up)


@jax.jit
def _swiglu_bwd(res, dy):
    gate, up = res
    s = jax.nn.sigmoid(gate)
    dgate = dy * up * s * (1 + gate * (1 - s))
    dup = dy * gate * s
    return dgate, dup


swiglu = jax.custom_vjp(_swiglu)
swiglu.defvjp(_swiglu_fwd, _swiglu_bwd)


@jax.custom_vjp
def leaky_relu(x, a):
    """Parametric leaky relu; `a` is learned and broadcasts against x."""
    return jnp.where(x > 0, x, a * x)


def leaky_relu_fwd(x, a):
    return leaky_relu(x, a), (x, a)


def leaky_relu_bwd(res, g):
    x, a = res
    pos = x > 0
    dx = jnp.where(pos, g, g * a)
    da = jnp.where(pos, 0.0, g * x)
    return _unbroadcast(dx, jnp.shape(x)), _unbroadcast(da, jnp.shape(a))


leaky_relu.defvjp(leaky_relu_fwd, leaky_relu_bwd)


def make_shrink(lam):
    @jax.custom_vjp
    def shrink(v):
        return jnp.sign(v) * jnp.maximum(jnp.abs(v) - lam, 0)

    def fwd(v):
        out = shrink(v)
        return out, out != 0

    def bwd(alive, g):
        return (jnp.where(alive, g, 0),)

    shrink.defvjp(fwd, bwd)
    return shrink


soft_threshold = make_shrink(0.7)


def _hot(logits, labels):
    if logits.ndim != 2 or labels.shape != logits.shape[:1]:
        raise ValueError("expected logits (batch, classes) and labels (batch,)")
    classes = jnp.arange(logits.shape[1])
    return (labels[:, None] == classes).astype(logits.dtype)


@jax.custom_vjp
def softmax_cross_entropy(logits, labels):
    """Mean CE over rows; rows whose label is not a class (e.g. -1) are ignored."""
    hot = _hot(logits, labels)
    n = jnp.maximum(hot.sum(), 1.0)
    return -(hot * jax.nn.log_softmax(logits, axis=-1)).sum() / n


def _ce_fwd(logits, labels):
    hot = _hot(logits, labels)
    n = jnp.maximum(hot.sum(), 1.0)
    logp = jax.nn.log_softmax(logits, axis=-1)
    return -(hot * logp).sum() / n, (logp, hot, n)


def _ce_bwd(res, g):
    logp, hot, n = res
    valid = hot.sum(-1, keepdims=True)
    return g * (jnp.exp(logp) * valid - hot) / n, None


softmax_cross_entropy.defvjp(_ce_fwd, _ce_bwd)


@jax.custom_vjp
def bce_with_logits(z, t, w):
    """Weighted binary cross entropy, normalised by the total weight.

    Targets may be soft; everything is differentiable.
    """
    if not (z.shape == t.shape == w.shape):
        raise ValueError("z, t, w must have one shape")
    per = jnp.maximum(z, 0) - z * t + jnp.log1p(jnp.exp(-jnp.abs(z)))
    return jnp.sum(w * per) / jnp.sum(w)


def _bce_fwd(z, t, w):
    return bce_with_logits(z, t, w), (z, t, w)


def _bce_bwd(res, g):
    z, t, w = res
    per = jnp.maximum(z, 0) - z * t + jnp.log1p(jnp.exp(-jnp.abs(z)))
    tot = jnp.sum(w)
    loss = jnp.sum(w * per) / tot
    k = g / tot
    return k * w * (jax.nn.sigmoid(z) - t), -k * w * z, k * (per - loss)


bce_with_logits.defvjp(_bce_fwd, _bce_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2,))
def huber(pred, target, delta=1.0):
    r = pred - target
    a = jnp.abs(r)
    return jnp.mean(jnp.where(a <= delta, 0.5 * r * r, delta * (a - 0.5 * delta)))


def huber_fwd(pred, target, delta):
    return huber(pred, target, delta), (pred, target)


def huber_bwd(delta, res, g):
    pred, target = res
    r = pred - target
    d = jnp.where(jnp.abs(r) <= delta, r, delta * jnp.sign(r)) * (g / r.size)
    return _unbroadcast(d, pred.shape), _unbroadcast(-d, target.shape)


huber.defvjp(huber_fwd, huber_bwd)


@jax.custom_vjp
def f(a, b):
    """KL(softmax(a) || softmax(b)) summed over the last axis."""
    if a.shape != b.shape:
        raise ValueError("shapes")
    la, lb = jax.nn.log_softmax(a), jax.nn.log_softmax(b)
    return (jnp.exp(la) * (la - lb)).sum(-1)


def _f_fwd(a, b):
    la, lb = jax.nn.log_softmax(a), jax.nn.log_softmax(b)
    out = f(a, b)
    return out, (la, lb, out)


def _f_bwd(res, g):
    la, lb, kl = res
    p, q = jnp.exp(la), jnp.exp(lb)
    g = g[..., None]
    return g * p * (la - lb - kl[..., None]), g * (q - p)


f.defvjp(_f_fwd, _f_bwd)


@jax.custom_jvp
def xlogy(x, y):
    """x * log(y), zero where x is zero."""
    ok = x != 0
    return jnp.where(ok, x * jnp.log(jnp.where(ok, y, 1.0)), 0.0)


@xlogy.defjvp
def _xlogy_jvp(primals, tangents):
    x, y = primals
    dx, dy = tangents
    return xlogy(x, y), dx * jnp.log(y) + dy * (x / y)
