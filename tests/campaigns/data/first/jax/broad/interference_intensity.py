import jax
import jax.numpy as jnp


@jax.custom_vjp
def interference_intensity(field_a, field_b):
    """|a + b|^2 of two complex fields of one shape."""
    if field_a.shape != field_b.shape:
        raise ValueError("fields must have one shape")
    s = field_a + field_b
    return s.real**2 + s.imag**2


def _fwd(field_a, field_b):
    return interference_intensity(field_a, field_b), field_a + field_b


def _bwd(s, g):
    ds = 2.0 * g * s
    return ds, ds


interference_intensity.defvjp(_fwd, _bwd)
