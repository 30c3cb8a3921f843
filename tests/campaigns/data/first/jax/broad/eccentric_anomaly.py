import jax
import jax.numpy as jnp


def _newton(m, e, iters=30):
    def body(_, E):
        return E - (E - e * jnp.sin(E) - m) / (1.0 - e * jnp.cos(E))

    return jax.lax.fori_loop(0, iters, body, m + e * jnp.sin(m))


@jax.custom_vjp
def eccentric_anomaly(mean_anomaly, eccentricity):
    """Solve Kepler's equation E - e sin E = M for E (0 <= e < 1), elementwise."""
    if mean_anomaly.shape != eccentricity.shape:
        raise ValueError("mean_anomaly and eccentricity must share a shape")
    return _newton(mean_anomaly, eccentricity)


def _fwd(mean_anomaly, eccentricity):
    E = eccentric_anomaly(mean_anomaly, eccentricity)
    return E, (E, eccentricity)


def _bwd(res, g):
    E, e = res
    # implicit function theorem: (1 - e cos E) dE = dM + sin E de
    u = g / (1.0 - e * jnp.cos(E))
    return u, u * jnp.sin(E)


eccentric_anomaly.defvjp(_fwd, _bwd)
