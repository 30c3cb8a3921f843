import jax
import jax.numpy as jnp


@jax.custom_vjp
def hawkes(times, mu, alpha, beta):
    """exponential kernel alpha*beta*exp(-beta dt), observed on [0, last event]"""
    dt = times[:, None] - times[None, :]
    past = dt > 0
    k = jnp.where(past, jnp.exp(-beta * jnp.where(past, dt, 0.0)), 0.0)
    lam = mu + alpha * beta * k.sum(1)
    T = times[-1]
    return jnp.sum(jnp.log(lam)) - mu * T - alpha * jnp.sum(1 - jnp.exp(-beta * (T - times)))


def hawkes_fwd(times, mu, alpha, beta):
    return hawkes(times, mu, alpha, beta), (times, mu, alpha, beta)


def hawkes_bwd(res, g):
    times, mu, alpha, beta = res
    dt = times[:, None] - times[None, :]
    past = dt > 0
    k = jnp.where(past, jnp.exp(-beta * jnp.where(past, dt, 0.0)), 0.0)
    lam = mu + alpha * beta * k.sum(1)
    T = times[-1]
    rem = T - times
    e = jnp.exp(-beta * rem)
    g_mu = jnp.sum(1 / lam) - T
    g_alpha = jnp.sum(beta * k.sum(1) / lam) - jnp.sum(1 - e)
    g_beta = jnp.sum(alpha * (k.sum(1) - beta * (dt * k).sum(1)) / lam) - alpha * jnp.sum(rem)
    w = -alpha * beta ** 2 * k / lam[:, None]
    gt = w.sum(1) - w.sum(0) + alpha * beta * e
    gt = gt.at[-1].add(-mu - alpha * beta * jnp.sum(e))
    return g * gt, g * g_mu, g * g_alpha, g * g_beta


hawkes.defvjp(hawkes_fwd, hawkes_bwd)
