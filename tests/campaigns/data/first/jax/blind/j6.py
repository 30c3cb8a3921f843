from functools import partial

import jax
import jax.numpy as jnp


def _sq(x, y):
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


@jax.custom_vjp
def rbf_gram(x, y, gamma):
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[1] or gamma.ndim:
        raise ValueError("expected x (N, D), y (M, D) and one number")
    return jnp.exp(-gamma * _sq(x, y))


def rbf_gram_fwd(x, y, gamma):
    k = rbf_gram(x, y, gamma)
    return k, (x, y, gamma, k)


def rbf_gram_bwd(res, g):
    x, y, gamma, k = res
    m = g * k
    dx = -2 * gamma * (m.sum(1)[:, None] * x - m @ y)
    dy = -2 * gamma * (m.sum(0)[:, None] * y - m.T @ x)
    return dx, dy, -(m * _sq(x, y)).sum()


rbf_gram.defvjp(rbf_gram_fwd, rbf_gram_bwd)


@jax.custom_vjp
def morse(r, depth, a, r0):
    if depth.ndim or a.ndim or r0.ndim:
        raise ValueError("depth, a and r0 are single numbers")
    e = jnp.exp(-a * (r - r0))
    return depth * (1 - e) ** 2


def morse_fwd(r, depth, a, r0):
    return morse(r, depth, a, r0), (r, depth, a, r0)


def morse_bwd(res, g):
    r, depth, a, r0 = res
    e = jnp.exp(-a * (r - r0))
    k = 2 * depth * (1 - e) * e * g
    return k * a, (g * (1 - e) ** 2).sum(), (k * (r - r0)).sum(), (k * a).sum()


morse.defvjp(morse_fwd, morse_bwd)


@jax.custom_jvp
def spectral_radiance(x):
    return x ** 3 / jnp.expm1(x)


@spectral_radiance.defjvp
def spectral_radiance_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    m = jnp.expm1(x)
    return x ** 3 / m, dx * (3 * x ** 2 / m - x ** 3 / m ** 2)


@partial(jax.custom_jvp, nondiff_argnums=(1,))
def eccentric_anomaly(m, e=0.3):
    if not 0 <= e <= 0.9:
        raise ValueError("e lies between 0 and 0.9")
    x = m + e * jnp.sin(m)
    for _ in range(40):
        x = x - (x - e * jnp.sin(x) - m) / (1 - e * jnp.cos(x))
    return x


@eccentric_anomaly.defjvp
def eccentric_anomaly_jvp(e, primals, tangents):
    (m,), (dm,) = primals, tangents
    x = eccentric_anomaly(m, e)
    return x, dm / (1 - e * jnp.cos(x))


@jax.custom_vjp
def equilibrium(a, b):
    if a.shape != b.shape:
        raise ValueError("shapes differ")
    w = 0.8 * jnp.tanh(a)
    z = jnp.zeros_like(b)
    for _ in range(150):
        z = jnp.tanh(w * z + b)
    return z


def equilibrium_fwd(a, b):
    z = equilibrium(a, b)
    return z, (a, b, z)


def equilibrium_bwd(res, g):
    a, b, z = res
    t = jnp.tanh(a)
    d = 1 - z * z
    return g * d * z * 0.8 * (1 - t * t), g * d


equilibrium.defvjp(equilibrium_fwd, equilibrium_bwd)


@jax.custom_vjp
def present_value(cash, rate):
    if cash.ndim != 1 or rate.ndim:
        raise ValueError("expected cash (T,) and one rate")
    return (cash * jnp.exp(-rate * jnp.arange(1, cash.shape[0] + 1))).sum()


def present_value_fwd(cash, rate):
    return present_value(cash, rate), (cash, rate)


def present_value_bwd(res, g):
    cash, rate = res
    t = jnp.arange(1, cash.shape[0] + 1)
    d = jnp.exp(-rate * t)
    return g * d, -g * (cash * t * d).sum()


present_value.defvjp(present_value_fwd, present_value_bwd)


@jax.custom_vjp
def sharpe(r):
    if r.ndim != 1 or r.shape[0] < 2:
        raise ValueError("expected at least two returns")
    return r.mean() / jnp.sqrt(((r - r.mean()) ** 2).mean() + 1e-8)


def sharpe_fwd(r):
    return sharpe(r), r


def sharpe_bwd(r, g):
    n = r.shape[0]
    m = r.mean()
    s = jnp.sqrt(((r - m) ** 2).mean() + 1e-8)
    return (g * (1 / (n * s) - m * (r - m) / s ** 3),)


sharpe.defvjp(sharpe_fwd, sharpe_bwd)


@jax.custom_vjp
def power_spectrum(x):
    if x.ndim != 1 or x.shape[0] < 1:
        raise ValueError("expected a signal")
    f = jnp.fft.fft(x)
    return f.real ** 2 + f.imag ** 2


def power_spectrum_fwd(x):
    return power_spectrum(x), jnp.fft.fft(x)


def power_spectrum_bwd(f, g):
    return (2 * jnp.fft.fft(g * jnp.conj(f)).real,)


power_spectrum.defvjp(power_spectrum_fwd, power_spectrum_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def autocorrelation(x, lags=3):
    if x.ndim != 1 or not 1 <= lags <= x.shape[0]:
        raise ValueError("more lags than samples")
    n = x.shape[0]
    return jnp.stack([(x[:n - l] * x[l:]).sum() for l in range(lags)])


def autocorrelation_fwd(x, lags):
    return autocorrelation(x, lags), x


def autocorrelation_bwd(lags, x, g):
    n = x.shape[0]
    d = 2 * g[0] * x
    for l in range(1, lags):
        d = d.at[:n - l].add(g[l] * x[l:])
    return (d,)


autocorrelation.defvjp(autocorrelation_fwd, autocorrelation_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def preemphasis(x, c=0.95):
    if x.ndim != 1 or x.shape[0] < 1:
        raise ValueError("expected a signal")
    return x - c * jnp.concatenate([jnp.zeros_like(x[:1]), x[:-1]])


def preemphasis_fwd(x, c):
    return preemphasis(x, c), None


def preemphasis_bwd(c, _, g):
    return (g - c * jnp.roll(g, -1),)


preemphasis.defvjp(preemphasis_fwd, preemphasis_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2, 3, 4))
def lorenz_step(s, dt=0.05, sigma=10.0, rho=28.0, beta=2.5):
    if s.ndim != 2 or s.shape[1] != 3:
        raise ValueError("expected states (N, 3)")
    x, y, z = s[:, 0], s[:, 1], s[:, 2]
    return s + dt * jnp.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z], axis=1)


def lorenz_step_fwd(s, dt, sigma, rho, beta):
    return lorenz_step(s, dt, sigma, rho, beta), s


def lorenz_step_bwd(dt, sigma, rho, beta, s, g):
    x, y, z = s[:, 0], s[:, 1], s[:, 2]
    a, b, c = g[:, 0], g[:, 1], g[:, 2]
    dx = -sigma * a + (rho - z) * b + y * c
    dy = sigma * a - b + x * c
    dz = -x * b - beta * c
    return (g + dt * jnp.stack([dx, dy, dz], axis=1),)


lorenz_step.defvjp(lorenz_step_fwd, lorenz_step_bwd)
