import jax
import jax.numpy as jnp


@jax.custom_vjp
def weighted_mean_var(x, w):
    W = w.sum(-1)
    m = (w * x).sum(-1) / W
    v = (w * (x - m[..., None]) ** 2).sum(-1) / W
    return m, v


def wmv_fwd(x, w):
    out = weighted_mean_var(x, w)
    return out, (x, w, out)


def wmv_bwd(res, ct):
    x, w, (m, v) = res
    gm, gv = (c[..., None] for c in ct)
    W = w.sum(-1, keepdims=True)
    d = x - m[..., None]
    gx = w / W * (gm + 2 * gv * d)
    gw = (gm * d + gv * (d ** 2 - v[..., None])) / W
    return gx, gw


weighted_mean_var.defvjp(wmv_fwd, wmv_bwd)
