import jax
import jax.numpy as jnp


def normalise(a):
    r = jnp.linalg.norm(a, axis=-1, keepdims=True)
    return a / r, r


def normalise_vjp(u, r, g):
    return (g - u * jnp.sum(g * u, -1, keepdims=True)) / r


@jax.custom_vjp
def qk_scores(q, k, log_scale):
    return jnp.exp(log_scale) * normalise(q)[0] @ normalise(k)[0].T


def qk_fwd(q, k, log_scale):
    uq, rq = normalise(q)
    uk, rk = normalise(k)
    s = jnp.exp(log_scale)
    out = s * uq @ uk.T
    return out, (uq, rq, uk, rk, s, out)


def qk_bwd(saved, g):
    uq, rq, uk, rk, s, out = saved
    return (normalise_vjp(uq, rq, s * g @ uk),
            normalise_vjp(uk, rk, s * g.T @ uq),
            jnp.sum(g * out))


qk_scores.defvjp(qk_fwd, qk_bwd)
