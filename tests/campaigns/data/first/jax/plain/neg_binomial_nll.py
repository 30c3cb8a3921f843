import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln, digamma


@jax.custom_vjp
def nb_nll(y, log_mu, log_r):
    """negative binomial with mean exp(log_mu) and dispersion exp(log_r)"""
    r = jnp.exp(log_r)
    t = jnp.logaddexp(log_mu, log_r)
    return -(gammaln(y + r) - gammaln(r) - gammaln(y + 1) + r * (log_r - t) + y * (log_mu - t))


def nb_fwd(y, log_mu, log_r):
    return nb_nll(y, log_mu, log_r), (y, log_mu, log_r)


def nb_bwd(res, g):
    y, log_mu, log_r = res
    mu, r = jnp.exp(log_mu), jnp.exp(log_r)
    gm = -g * r * (y - mu) / (mu + r)
    dr = digamma(y + r) - digamma(r) + jnp.log(r / (r + mu)) - (mu - y) / (r + mu)
    return None, gm, -g * r * dr


nb_nll.defvjp(nb_fwd, nb_bwd)
