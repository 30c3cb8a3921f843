import jax
import jax.numpy as jnp


@jax.custom_vjp
def temperature_softmax(logits, temperature):
    """softmax(logits / temperature) over the last axis, with a learned scalar temperature."""
    if jnp.ndim(temperature) != 0:
        raise ValueError("temperature must be a scalar")
    return jax.nn.softmax(logits / temperature, axis=-1)


def _fwd(logits, temperature):
    p = temperature_softmax(logits, temperature)
    return p, (p, logits, temperature)


def _bwd(res, g):
    p, logits, temperature = res
    ds = p * (g - jnp.sum(g * p, axis=-1, keepdims=True))
    d_logits = ds / temperature
    d_temperature = -jnp.sum(ds * logits) / temperature
    return d_logits, d_temperature


temperature_softmax.defvjp(_fwd, _bwd)
