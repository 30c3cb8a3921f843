import jax
import jax.numpy as jnp


@jax.custom_vjp
def bary_gather(verts, attrs, tri, w):
    """interpolated vertex position and attribute for given barycentric weights"""
    return jnp.einsum("fk,fkd->fd", w, verts[tri]), jnp.einsum("fk,fkd->fd", w, attrs[tri])


def bary_fwd(verts, attrs, tri, w):
    return bary_gather(verts, attrs, tri, w), (verts, attrs, tri, w)


def bary_bwd(res, cts):
    verts, attrs, tri, w = res
    gp, ga = cts
    gv = jnp.zeros_like(verts).at[tri].add(w[..., None] * gp[:, None])
    gattr = jnp.zeros_like(attrs).at[tri].add(w[..., None] * ga[:, None])
    gw = jnp.einsum("fkd,fd->fk", verts[tri], gp) + jnp.einsum("fkd,fd->fk", attrs[tri], ga)
    return gv, gattr, None, gw


bary_gather.defvjp(bary_fwd, bary_bwd)
