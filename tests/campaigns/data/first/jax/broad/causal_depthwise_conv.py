import jax
import jax.numpy as jnp


def _check(x, w):
    if x.ndim < 2 or w.ndim != 2 or w.shape[1] != x.shape[-1]:
        raise ValueError("x: [..., time, channel], w: [taps, channel]")


def _delay(x, k):
    """Shift k steps later in time (axis -2), zeros in front."""
    t = x.shape[-2]
    pad = [(0, 0)] * (x.ndim - 2) + [(k, 0), (0, 0)]
    return jnp.pad(x, pad)[..., :t, :]


def _advance(x, k):
    t = x.shape[-2]
    pad = [(0, 0)] * (x.ndim - 2) + [(0, k), (0, 0)]
    return jnp.pad(x, pad)[..., k : k + t, :]


@jax.custom_vjp
def causal_depthwise_conv(x, w):
    """y[t] = sum_k w[k] x[t - k] per channel (the short conv of SSM blocks)."""
    _check(x, w)
    return sum(w[k] * _delay(x, k) for k in range(w.shape[0]))


def _fwd(x, w):
    return causal_depthwise_conv(x, w), (x, w)


def _bwd(res, g):
    x, w = res
    dx = sum(w[k] * _advance(g, k) for k in range(w.shape[0]))
    lead = tuple(range(x.ndim - 1))
    dw = jnp.stack([jnp.sum(g * _delay(x, k), axis=lead) for k in range(w.shape[0])])
    return dx, dw


causal_depthwise_conv.defvjp(_fwd, _bwd)
