import jax
import jax.numpy as jnp
from jax.scipy.stats import norm


def _d(S, K, vol, T, r):
    sq = vol * jnp.sqrt(T)
    d1 = (jnp.log(S / K) + (r + 0.5 * vol ** 2) * T) / sq
    return d1, d1 - sq


@jax.custom_vjp
def bs_call(S, K, vol, T, r):
    d1, d2 = _d(S, K, vol, T, r)
    return S * norm.cdf(d1) - K * jnp.exp(-r * T) * norm.cdf(d2)


def _fwd(S, K, vol, T, r):
    return bs_call(S, K, vol, T, r), (S, K, vol, T, r)


def _bwd(res, g):
    S, K, vol, T, r = res
    d1, d2 = _d(*res)
    disc = K * jnp.exp(-r * T)
    delta = norm.cdf(d1)
    dual = -jnp.exp(-r * T) * norm.cdf(d2)
    vega = S * norm.pdf(d1) * jnp.sqrt(T)
    theta = S * norm.pdf(d1) * vol / (2 * jnp.sqrt(T)) + r * disc * norm.cdf(d2)
    rho = disc * T * norm.cdf(d2)
    return g * delta, g * dual, g * vega, g * theta, g * rho


bs_call.defvjp(_fwd, _bwd)
