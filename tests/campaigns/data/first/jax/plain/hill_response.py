import jax
import jax.numpy as jnp


@jax.custom_vjp
def hill(dose, emax, ec50, n):
    a = dose ** n
    return emax * a / (a + ec50 ** n)


def hill_fwd(dose, emax, ec50, n):
    s = jax.nn.sigmoid(n * (jnp.log(dose) - jnp.log(ec50)))
    return emax * s, (dose, emax, ec50, n, s)


def hill_bwd(res, g):
    dose, emax, ec50, n, s = res
    gs = g * emax * s * (1 - s)
    return (gs * n / dose,
            jnp.sum(g * s),
            -jnp.sum(gs) * n / ec50,
            jnp.sum(gs * jnp.log(dose / ec50)))


hill.defvjp(hill_fwd, hill_bwd)
