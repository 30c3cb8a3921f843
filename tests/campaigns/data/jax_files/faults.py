"""Functions of JAX with a wrong rule each."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

_kept = {}


def _unary(forward, bwd, keep=lambda x: x):
    @jax.custom_vjp
    def made(x):
        return forward(x)

    made.defvjp(lambda x: (forward(x), keep(x)), lambda res, g: (bwd(res, g),))
    return made


sin_sign = _unary(jnp.sin, lambda x, g: -g * jnp.cos(x))
square_factor = _unary(lambda x: x * x, lambda x, g: g * x)
tanh_in_y = _unary(jnp.tanh, lambda x, g: g * (1 - jnp.tanh(jnp.tanh(x)) ** 2))
swish_forgets = _unary(lambda x: x * jax.nn.sigmoid(x), lambda x, g: g * jax.nn.sigmoid(x))
relu_everywhere = _unary(lambda x: jnp.maximum(x, 0), lambda x, g: g)
ignores_incoming = _unary(jnp.exp, lambda x, g: jnp.exp(x))
softmax_no_sum = _unary(lambda x: jax.nn.softmax(x, axis=-1), lambda x, g: g * jax.nn.softmax(x, axis=-1))
cumsum_forward = _unary(lambda x: jnp.cumsum(x, axis=-1), lambda x, g: jnp.cumsum(g, axis=-1))
max_all_ones = _unary(lambda x: jnp.max(x, axis=-1), lambda x, g: jnp.ones_like(x) * g[..., None])
mean_no_count = _unary(lambda x: jnp.mean(x, axis=-1), lambda x, g: jnp.broadcast_to(g[..., None], x.shape))
log1p_naive = _unary(lambda x: jnp.log1p(x * x), lambda x, g: g * 2 * x / (2 + x * x))
off_by_a_bit = _unary(jnp.sin, lambda x, g: g * jnp.cos(x) * 1.0001)
clips_gradient = _unary(lambda x: x**3, lambda x, g: jnp.clip(g * 3 * x * x, -1, 1))
wrong_shape = _unary(lambda x: x * 2, lambda x, g: jnp.sum(g))
raises = _unary(lambda x: x * 2, lambda x, g: g @ jnp.ones((17, 3)))
float16_inside = _unary(jnp.sin, lambda x, g: (g * jnp.cos(x).astype(jnp.float16)).astype(x.dtype))
nan_at_zero = _unary(lambda x: jnp.abs(x) ** 3, lambda x, g: g * 3 * x**4 / x / jnp.abs(x))


@jax.custom_vjp
def stateful(x):
    return x * x


def _stateful_fwd(x):
    _kept["x"] = x
    return x * x, None


stateful.defvjp(_stateful_fwd, lambda res, g: (2 * _kept["x"] * g,))


@jax.custom_vjp
def differs_in_jit(x):
    return jnp.sin(x)


differs_in_jit.defvjp(
    lambda x: (jnp.sin(x), x),
    lambda x, g: (g * jnp.cos(x) * (1.5 if isinstance(x, jax.core.Tracer) else 1.0),),
)


@jax.custom_batching.custom_vmap
def _slope(x, g):
    return 2 * g * x


@_slope.def_vmap
def _slope_rule(size, batched, x, g):
    return jnp.broadcast_to(jnp.sum(2 * g * x, axis=0, keepdims=True), x.shape), True


@jax.custom_vjp
def differs_in_vmap(x):
    return x * x


differs_in_vmap.defvjp(lambda x: (x * x, x), lambda x, g: (_slope(x, g),))


@jax.custom_vjp
def dense_swapped(x, w):
    return x @ w


def cases_dense_swapped(rng):
    yield {"x": rng.standard_normal((3, 3)), "w": rng.standard_normal((3, 3))}


dense_swapped.defvjp(lambda x, w: (x @ w, (x, w)), lambda r, g: (g @ r[1], r[0].T @ g))


@jax.custom_vjp
def bias_forgotten(x, b):
    return x + b


def cases_bias_forgotten(rng):
    yield {"x": rng.standard_normal((3, 4)), "b": rng.standard_normal((3, 4))}


bias_forgotten.defvjp(lambda x, b: (x + b, None), lambda r, g: (g, None))


@jax.custom_vjp
def product_swapped(x, y):
    return x * y


product_swapped.defvjp(lambda x, y: (x * y, (x, y)), lambda r, g: (g * r[0], g * r[1]))


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def power(x, n):
    return x**n


def cases_power(rng):
    for n in (2, 3):
        yield {"x": rng.uniform(0.5, 2, (4,)), "n": n}


power.defvjp(lambda x, n: (x**n, x), lambda n, x, g: (g * 2 * x ** (n - 1),))


@jax.custom_vjp
def second_output_lost(x):
    return jnp.sin(x), jnp.cos(x)


second_output_lost.defvjp(lambda x: (second_output_lost(x), x), lambda x, g: (g[0] * jnp.cos(x),))


@jax.custom_vjp
def tree_swapped(params, x):
    return params["a"] * x + params["b"] * x * x


def cases_tree_swapped(rng):
    yield {"params": {"a": rng.standard_normal(3), "b": rng.standard_normal(3)}, "x": rng.standard_normal(3)}


tree_swapped.defvjp(
    lambda p, x: (tree_swapped(p, x), (p, x)),
    lambda r, g: ({"a": g * r[1] ** 2, "b": g * r[1]}, g * (r[0]["a"] + 2 * r[0]["b"] * r[1])),
)


@jax.custom_vjp
def duplicates_lost(table, index):
    return table[index]


def cases_duplicates_lost(rng):
    yield {"table": rng.standard_normal((5, 3)), "index": np.array([0, 2, 2, 4])}


duplicates_lost.defvjp(
    lambda table, index: (table[index], (table, index)),
    lambda r, g: (jnp.zeros_like(r[0]).at[r[1]].set(g), None),
)


@jax.custom_jvp
def jvp_factor(x):
    return jnp.exp(2 * x)


jvp_factor.defjvp(lambda p, t: (jvp_factor(*p), jnp.exp(2 * p[0]) * t[0]))


@jax.custom_jvp
def jvp_forgets(x, y):
    return x * y


jvp_forgets.defjvp(lambda p, t: (p[0] * p[1], t[0] * p[1]))


@jax.custom_jvp
def jvp_value(x):
    return jnp.sin(x)


jvp_value.defjvp(lambda p, t: (jnp.cos(p[0]), jnp.cos(p[0]) * t[0]))


@jax.custom_vjp
def wrong_in_bfloat16(x):
    return jnp.sin(x)


wrong_in_bfloat16.defvjp(
    lambda x: (jnp.sin(x), x),
    lambda x, g: (g * jnp.cos(x) * (0.5 if x.dtype == jnp.bfloat16 else 1.0),),
)
