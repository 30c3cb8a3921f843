from functools import partial
import jax
import jax.numpy as jnp


def _frames(n, size, hop):
    return jnp.arange(0, n - size + 1, hop)[:, None] + jnp.arange(size)[None]


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def stft_mag(x, window, hop=4):
    idx = _frames(x.shape[0], window.shape[0], hop)
    X = jnp.fft.fft(x[idx] * window, axis=-1)
    return jnp.sqrt(X.real ** 2 + X.imag ** 2 + 1e-6)


def stft_fwd(x, window, hop):
    idx = _frames(x.shape[0], window.shape[0], hop)
    X = jnp.fft.fft(x[idx] * window, axis=-1)
    mag = jnp.sqrt(X.real ** 2 + X.imag ** 2 + 1e-6)
    return mag, (x, window, X / mag)


def stft_bwd(hop, res, g):
    x, window, phase = res
    n = window.shape[0]
    idx = _frames(x.shape[0], n, hop)
    gf = n * jnp.fft.ifft(g * phase, axis=-1).real
    gx = jnp.zeros_like(x).at[idx].add(gf * window)
    return gx, jnp.sum(gf * x[idx], axis=0)


stft_mag.defvjp(stft_fwd, stft_bwd)
