import functools
import jax
import jax.numpy as jnp


def _probs(q, k, window):
    t = jnp.arange(q.shape[0])
    off = t[:, None] - t[None, :]
    ok = (off >= 0) & (off < window)
    s = q @ k.T / jnp.sqrt(q.shape[-1])
    return jax.nn.softmax(jnp.where(ok, s, -jnp.inf), axis=-1)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def local_attn(q, k, v, window=2):
    return _probs(q, k, window) @ v


def _fwd(q, k, v, window):
    return local_attn(q, k, v, window), (q, k, v)


def _bwd(window, res, do):
    q, k, v = res
    p = _probs(q, k, window + 1)
    dp = do @ v.T
    ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / jnp.sqrt(q.shape[-1])
    return ds @ k, ds.T @ q, p.T @ do


local_attn.defvjp(_fwd, _bwd)
