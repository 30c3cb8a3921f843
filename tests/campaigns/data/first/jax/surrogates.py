"""Deliberate stand-in gradients."""
from functools import partial

import jax
import jax.numpy as jnp


@jax.custom_vjp
def ste_round(x):
    """Round to nearest, straight-through gradient."""
    return jnp.round(x)


ste_round.defvjp(lambda x: (jnp.round(x), None), lambda _, g: (g,))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def grad_reverse(x, lam=1.0):
    """Gradient reversal layer (DANN)."""
    return x


grad_reverse.defvjp(lambda x, lam: (x, None), lambda lam, _, g: (-lam * g,))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def clip_gradient(x, bound=0.1):
    """Identity whose cotangent is clipped elementwise."""
    return x


clip_gradient.defvjp(lambda x, bound: (x, None), lambda bound, _, g: (jnp.clip(g, -bound, bound),))


@jax.custom_jvp
def spike(v):
    """Heaviside spike with a fast-sigmoid surrogate derivative."""
    return (v > 0).astype(v.dtype)


@spike.defjvp
def _spike_jvp(primals, tangents):
    (v,), (t,) = primals, tangents
    return spike(v), t / (1 + 10.0 * jnp.abs(v)) ** 2
