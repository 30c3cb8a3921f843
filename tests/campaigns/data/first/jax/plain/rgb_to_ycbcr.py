import jax
import jax.numpy as jnp

M = ((0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312))


@jax.custom_vjp
def ycbcr(rgb, chroma_gain=1.0):
    y = rgb @ jnp.array(M, rgb.dtype).T
    return y.at[..., 1:].multiply(chroma_gain)


def ycbcr_fwd(rgb, chroma_gain):
    return ycbcr(rgb, chroma_gain), chroma_gain


def ycbcr_bwd(chroma_gain, g):
    g = g.at[..., 1:].multiply(chroma_gain)
    return g @ jnp.array(M, g.dtype), None


ycbcr.defvjp(ycbcr_fwd, ycbcr_bwd)
