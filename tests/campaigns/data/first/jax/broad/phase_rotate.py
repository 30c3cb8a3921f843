import jax
import jax.numpy as jnp


def _reduce(v, shape):
    lead = v.ndim - len(shape)
    v = v.sum(tuple(range(lead)))
    ones = tuple(i for i, s in enumerate(shape) if s == 1)
    return v.sum(ones, keepdims=True)


@jax.custom_vjp
def phase_rotate(z, theta):
    """z * exp(i theta), z complex, theta real; broadcasts."""
    if not jnp.iscomplexobj(z) or jnp.iscomplexobj(theta):
        raise TypeError("z must be complex and theta real")
    return z * jnp.exp(1j * theta)


def _fwd(z, theta):
    out = phase_rotate(z, theta)
    return out, (z, theta, out)


def _bwd(res, g):
    z, theta, out = res
    # JAX cotangents are not conjugated
    gz = g * jnp.exp(1j * theta)
    gt = -jnp.imag(g * out)
    return _reduce(gz, z.shape), _reduce(gt, theta.shape)


phase_rotate.defvjp(_fwd, _bwd)
