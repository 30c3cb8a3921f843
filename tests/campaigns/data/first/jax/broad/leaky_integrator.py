import jax
import jax.numpy as jnp
from jax import lax


def _scan(x, decay):
    def step(h, xt):
        h = decay * h + (1.0 - decay) * xt
        return h, h

    return lax.scan(step, jnp.zeros_like(x[0]), x)[1]


@jax.custom_vjp
def leaky_integrator(x, decay):
    """h_t = decay h_{t-1} + (1 - decay) x_t, h_0 = 0.

    x: [time, ...]; decay: x.shape[1:].
    """
    if decay.shape != x.shape[1:]:
        raise ValueError("decay must be x.shape[1:]")
    return _scan(x, decay)


def leaky_fwd(x, decay):
    h = leaky_integrator(x, decay)
    return h, (x, decay, h)


def leaky_bwd(res, g):
    x, decay, h = res

    def step(carry, gt):
        carry = gt + decay * carry
        return carry, carry

    # adjoint state, backwards in time
    _, lam = lax.scan(step, jnp.zeros_like(g[0]), g, reverse=True)
    prev = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]])
    return (1.0 - decay) * lam, jnp.sum(lam * (prev - x), axis=0)


leaky_integrator.defvjp(leaky_fwd, leaky_bwd)
