"""Right functions of JAX with rules of their own."""

import functools

import jax
import jax.numpy as jnp
import numpy as np


@jax.custom_vjp
def swish(x):
    return x * jax.nn.sigmoid(x)


def _swish_fwd(x):
    return swish(x), x


def _swish_bwd(x, g):
    s = jax.nn.sigmoid(x)
    return (g * (s + x * s * jax.nn.sigmoid(-x)),)


swish.defvjp(_swish_fwd, _swish_bwd)


@jax.custom_vjp
def swish_beta(x, beta):
    return x * jax.nn.sigmoid(beta * x)


def cases_swish_beta(rng):
    for _ in range(3):
        yield {"x": rng.standard_normal((3, 4)), "beta": np.asarray(rng.uniform(0.5, 2))}


def _beta_bwd(res, g):
    x, beta = res
    s = jax.nn.sigmoid(beta * x)
    d = s * jax.nn.sigmoid(-beta * x)
    return g * (s + beta * x * d), jnp.sum(g * x * x * d)


swish_beta.defvjp(lambda x, beta: (swish_beta(x, beta), (x, beta)), _beta_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def softmax(x, axis):
    e = jnp.exp(x - jnp.max(x, axis=axis, keepdims=True))
    return e / jnp.sum(e, axis=axis, keepdims=True)


def _softmax_fwd(x, axis):
    y = softmax(x, axis)
    return y, y


softmax.defvjp(_softmax_fwd, lambda axis, y, g: (y * (g - jnp.sum(g * y, axis=axis, keepdims=True)),))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def clipped(x, low, high):
    return jnp.clip(x, low, high)


def cases_clipped(rng):
    yield {"x": rng.standard_normal((4, 5)), "low": -1.0, "high": 0.5}


clipped.defvjp(lambda x, low, high: (clipped(x, low, high), x), lambda low, high, x, g: (g * ((x > low) & (x < high)),))


@jax.custom_vjp
def dense(x, w, b):
    return x @ w + b


dense.defvjp(lambda x, w, b: (dense(x, w, b), (x, w)), lambda r, g: (g @ r[1].T, r[0].T @ g, g.sum(0)))


@jax.custom_vjp
def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1))


def cases_cross_entropy(rng):
    for rows in (4, 1):
        yield {"logits": rng.standard_normal((rows, 3)), "labels": rng.integers(3, size=rows)}


def _ce_bwd(res, g):
    logits, labels = res
    return g * (jax.nn.softmax(logits) - jax.nn.one_hot(labels, logits.shape[-1])) / logits.shape[0], None


cross_entropy.defvjp(lambda logits, labels: (cross_entropy(logits, labels), (logits, labels)), _ce_bwd)


@jax.custom_vjp
def affine(params, x):
    return params["scale"] * x + params["shift"]


def cases_affine(rng):
    yield {"params": {"scale": rng.standard_normal(4), "shift": rng.standard_normal(4)}, "x": rng.standard_normal((4,))}


affine.defvjp(
    lambda params, x: (affine(params, x), (params, x)),
    lambda res, g: ({"scale": g * res[1], "shift": g}, g * res[0]["scale"]),
)


@jax.custom_vjp
def sin_and_cos(x):
    return jnp.sin(x), jnp.cos(x)


sin_and_cos.defvjp(
    lambda x: (sin_and_cos(x), x), lambda x, g: (g[0] * jnp.cos(x) - g[1] * jnp.sin(x),)
)


@jax.custom_vjp
def row_norm(x):
    return jnp.sqrt(jnp.sum(x * x, axis=-1))


def _norm_fwd(x):
    y = row_norm(x)
    return y, (x, y)


def _norm_bwd(res, g):
    x, y = res
    safe = jnp.where(y > 0, y, 1.0)
    return ((g / safe)[..., None] * x,)


def cases_row_norm(rng):
    for shape in ((3, 4), (2, 3, 2)):
        yield {"x": rng.uniform(0.5, 2, shape)}


row_norm.defvjp(_norm_fwd, _norm_bwd)


@jax.custom_vjp
def top_value(x):
    return jnp.max(x, axis=-1)


def _top_bwd(res, g):
    x, y = res
    hit = x == y[..., None]
    return (g[..., None] * hit / jnp.sum(hit, axis=-1, keepdims=True),)


def _top_fwd(x):
    y = top_value(x)
    return y, (x, y)


top_value.defvjp(_top_fwd, _top_bwd)


@jax.custom_vjp
def straight_through(x):
    return jnp.round(x)


straight_through.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))
SURROGATE_straight_through = {"forward": lambda x: x}


@jax.custom_vjp
def scan_sum(x):
    def body(carry, item):
        return carry + item * item, carry

    return jax.lax.scan(body, jnp.zeros(x.shape[1:], x.dtype), x)[0]


def cases_scan_sum(rng):
    yield {"x": rng.standard_normal((5, 3))}


scan_sum.defvjp(lambda x: (scan_sum(x), x), lambda x, g: (2 * x * g[None],))


@jax.custom_jvp
def log_cosh(x):
    return jnp.logaddexp(x, -x) - jnp.log(2.0).astype(x.dtype)


log_cosh.defjvp(lambda primals, tangents: (log_cosh(*primals), jnp.tanh(primals[0]) * tangents[0]))


@jax.custom_jvp
def safe_sqrt(x):
    return jnp.sqrt(jnp.maximum(x, 0))


def cases_safe_sqrt(rng):
    yield {"x": rng.uniform(0.2, 3, (6,))}


@safe_sqrt.defjvp
def _safe_sqrt_jvp(primals, tangents):
    (x,), (v,) = primals, tangents
    y = safe_sqrt(x)
    return y, v / (2 * jnp.where(y > 0, y, 1.0))


@jax.custom_jvp
def product(x, y):
    return x * y


product.defjvps(lambda v, out, x, y: v * y, lambda v, out, x, y: v * x)


@jax.custom_vjp
def masked_mean(x, mask):
    return jnp.sum(x * mask) / jnp.sum(mask)


def cases_masked_mean(rng):
    yield {"x": rng.standard_normal((4, 3)), "mask": (rng.uniform(size=(4, 3)) > 0.3).astype(float) + 0.0}


masked_mean.defvjp(
    lambda x, mask: (masked_mean(x, mask), mask), lambda mask, g: (g * mask / jnp.sum(mask), jnp.zeros_like(mask))
)


@jax.custom_vjp
def gathered(table, index):
    return table[index]


def cases_gathered(rng):
    yield {"table": rng.standard_normal((5, 3)), "index": np.array([0, 2, 2, 4])}


gathered.defvjp(
    lambda table, index: (table[index], (table.shape[0], index, table)),
    lambda res, g: (jnp.zeros_like(res[2]).at[res[1]].add(g), None),
)


@jax.custom_vjp
def cumulative(x):
    return jnp.cumsum(x, axis=-1)


cumulative.defvjp(lambda x: (cumulative(x), None), lambda _, g: (jnp.flip(jnp.cumsum(jnp.flip(g, -1), axis=-1), -1),))


@jax.custom_vjp
def gelu(x):
    return 0.5 * x * (1 + jax.lax.erf(x / np.sqrt(2).astype(x.dtype)))


def _gelu_bwd(x, g):
    root = np.sqrt(2).astype(x.dtype)
    bell = jnp.exp(-x * x / 2) / np.sqrt(2 * np.pi).astype(x.dtype)
    return (g * (0.5 * jax.lax.erfc(-x / root) + x * bell),)


gelu.defvjp(lambda x: (gelu(x), x), _gelu_bwd)


@jax.custom_vjp
def attention(q, k, v):
    return jax.nn.softmax(q @ k.T) @ v


def _attention_fwd(q, k, v):
    p = jax.nn.softmax(q @ k.T)
    return p @ v, (q, k, v, p)


def _attention_bwd(res, g):
    q, k, v, p = res
    dp = g @ v.T
    ds = p * (dp - jnp.sum(dp * p, axis=-1, keepdims=True))
    return ds @ k, ds.T @ q, p.T @ g


def cases_attention(rng):
    yield {"q": rng.standard_normal((3, 4)), "k": rng.standard_normal((5, 4)), "v": rng.standard_normal((5, 2))}


attention.defvjp(_attention_fwd, _attention_bwd)
