import jax
import jax.numpy as jnp


def _halley(x):
    def body(_, w):
        e = jnp.exp(w)
        f = w * e - x
        return w - f / (e * (w + 1.0) - (w + 2.0) * f / (2.0 * w + 2.0))

    return jax.lax.fori_loop(0, 40, body, jnp.log1p(x))


@jax.custom_vjp
def lambert_w(x):
    """Principal branch of Lambert's W for x >= 0: w e^w = x."""
    return _halley(x)


def _fwd(x):
    w = lambert_w(x)
    return w, w


def _bwd(w, g):
    return (g * jnp.exp(-w),)


lambert_w.defvjp(_fwd, _bwd)
