import jax
import jax.numpy as jnp
from jax import custom_vjp
from functools import partial


@custom_vjp
def triplet_cos(a, p, n):
    def cos(u, v):
        return jnp.sum(u * v, -1) / (jnp.linalg.norm(u, axis=-1) * jnp.linalg.norm(v, axis=-1))
    return jnp.sum(jnp.maximum(cos(a, n) - cos(a, p) + 0.3, 0))


def tc_fwd(a, p, n):
    if not a.shape == p.shape == n.shape:
        raise ValueError("a, p, n")
    return triplet_cos(a, p, n), (a, p, n)


def tc_bwd(res, g):
    a, p, n = res
    na, np_, nn_ = (jnp.linalg.norm(v, axis=-1, keepdims=True) for v in (a, p, n))
    ua, up, un = a / na, p / np_, n / nn_
    cp = jnp.sum(ua * up, -1, keepdims=True)
    cn = jnp.sum(ua * un, -1, keepdims=True)
    on = g * (cn - cp + 0.3 > 0)
    da = on * ((un - cn * ua) - (up - cp * ua)) / na
    dp = -on * (ua - cp * up) / np_
    dn = on * (ua - cn * un) / nn_
    return da, dp, dn


triplet_cos.defvjp(tc_fwd, tc_bwd)


@custom_vjp
def gat_score(h, att, src, dst):
    """leaky relu of att . [h_src, h_dst] per edge"""
    d = h.shape[1]
    e = h[src] @ att[:d] + h[dst] @ att[d:]
    return jnp.where(e > 0, e, 0.2 * e)


def gat_fwd(h, att, src, dst):
    d = h.shape[1]
    if att.shape != (2 * d,) or src.shape != dst.shape:
        raise ValueError
    e = h[src] @ att[:d] + h[dst] @ att[d:]
    return jnp.where(e > 0, e, 0.2 * e), (h, att, src, dst, e)


def gat_bwd(res, g):
    h, att, src, dst, e = res
    d = h.shape[1]
    ge = jnp.where(e > 0, g, 0.2 * g)
    dh = jnp.zeros_like(h).at[src].add(ge[:, None] * att[:d]).at[dst].add(ge[:, None] * att[d:])
    datt = jnp.concatenate([ge @ h[src], ge @ h[dst]])
    return dh, datt, None, None


gat_score.defvjp(gat_fwd, gat_bwd)


@partial(custom_vjp, nondiff_argnums=(1, 2))
def soft_bins(x, lo=-1.0, hi=1.0):
    """clip to [lo, hi] and rescale to [0, 1]"""
    return (jnp.clip(x, lo, hi) - lo) / (hi - lo)


def sb_fwd(x, lo, hi):
    return soft_bins(x, lo, hi), x


def sb_bwd(lo, hi, x, g):
    return (jnp.where((x > lo) & (x < hi), g, 0) / hi,)


soft_bins.defvjp(sb_fwd, sb_bwd)


@custom_vjp
def layer_scale_res(x, y, s):
    return x + s * y


def ls_fwd(x, y, s):
    return layer_scale_res(x, y, s), (y, s)


def ls_bwd(res, g):
    y, s = res
    ds = g * y
    ds = ds.reshape(-1, s.shape[-1]).sum(0) if s.ndim == 1 else ds
    return g, g * s, ds


layer_scale_res.defvjp(ls_fwd, ls_bwd)


@custom_vjp
def slerp(p, q, t):
    """unit vectors p, q (..., d); t scalar; here not normalised again"""
    dot = jnp.clip(jnp.sum(p * q, -1, keepdims=True), -0.9999, 0.9999)
    w = jnp.arccos(dot)
    return (jnp.sin((1 - t) * w) * p + jnp.sin(t * w) * q) / jnp.sin(w)


def slerp_fwd(p, q, t):
    return slerp(p, q, t), (p, q, t)


def slerp_bwd(res, g):
    p, q, t = res
    raw = jnp.sum(p * q, -1, keepdims=True)
    dot = jnp.clip(raw, -0.9999, 0.9999)
    w = jnp.arccos(dot)
    sw, cw = jnp.sin(w), jnp.cos(w)
    a, b = jnp.sin((1 - t) * w) / sw, jnp.sin(t * w) / sw
    gp = jnp.sum(g * p, -1, keepdims=True)
    gq = jnp.sum(g * q, -1, keepdims=True)
    da = ((1 - t) * jnp.cos((1 - t) * w) * sw - jnp.sin((1 - t) * w) * cw) / sw ** 2
    db = (t * jnp.cos(t * w) * sw - jnp.sin(t * w) * cw) / sw ** 2
    gw = gp * da + gq * db
    gdot = -gw / sw * (jnp.abs(raw) < 0.9999)
    gt = jnp.sum(gp * -w * jnp.cos((1 - t) * w) / sw + gq * w * jnp.cos(t * w) / sw)
    return a * g + gdot * q, b * g + gdot * p, gt


slerp.defvjp(slerp_fwd, slerp_bwd)


@custom_vjp
def kalman_gain(P, H, Rn):
    """K = P H' (H P H' + R)^-1"""
    S = H @ P @ H.T + Rn
    return jnp.linalg.solve(S.T, (P @ H.T).T).T


def kg_fwd(P, H, Rn):
    S = H @ P @ H.T + Rn
    K = jnp.linalg.solve(S.T, (P @ H.T).T).T
    return K, (P, H, S, K)


def kg_bwd(res, G):
    P, H, S, K = res
    # K S = P H'
    U = jnp.linalg.solve(S, G.T).T          # G S^-T
    gS = -K.T @ U
    gP = U @ H + H.T @ gS @ H
    gH = U.T @ P + gS @ H @ P.T + gS.T @ H @ P
    return gP, gH, gS


kalman_gain.defvjp(kg_fwd, kg_bwd)


@custom_vjp
def gelu_erf_bias(x, b):
    z = x + b
    return 0.5 * z * (1 + jax.scipy.special.erf(z / jnp.sqrt(2.0)))


def ge_fwd(x, b):
    z = x + b
    return gelu_erf_bias(x, b), (z, b.shape)


def ge_bwd(res, g):
    z, bs = res
    phi = jnp.exp(-0.5 * z * z) / jnp.sqrt(2 * jnp.pi)
    d = g * (0.5 * (1 + jax.scipy.special.erf(z / jnp.sqrt(2.0))) + z * phi)
    return d, d.sum(tuple(range(d.ndim - len(bs))))


gelu_erf_bias.defvjp(ge_fwd, ge_bwd)


@custom_vjp
def rank_pairs(s, y):
    """sum over pairs with y_i > y_j of log(1 + exp(-(s_i - s_j)))"""
    d = s[:, None] - s[None, :]
    m = (y[:, None] > y[None, :])
    return jnp.sum(jnp.where(m, jnp.logaddexp(0.0, -d), 0.0))


def rp_fwd(s, y):
    return rank_pairs(s, y), (s, y)


def rp_bwd(res, g):
    s, y = res
    d = s[:, None] - s[None, :]
    m = (y[:, None] >= y[None, :])
    k = jnp.where(m, -jax.nn.sigmoid(-d), 0.0) * g
    return k.sum(1) - k.sum(0), None


rank_pairs.defvjp(rp_fwd, rp_bwd)


@partial(custom_vjp, nondiff_argnums=(2,))
def window_attn(q, k, radius=1):
    """banded softmax weights"""
    n = q.shape[0]
    s = q @ k.T / jnp.sqrt(q.shape[1])
    i = jnp.arange(n)
    band = jnp.abs(i[:, None] - i[None]) <= radius
    return jax.nn.softmax(jnp.where(band, s, -jnp.inf), -1)


def wa_fwd(q, k, radius):
    assert q.ndim == 2 and q.shape == k.shape
    p = window_attn(q, k, radius)
    return p, (q, k, p)


def wa_bwd(radius, res, g):
    q, k, p = res
    ds = p * (g - jnp.sum(g * p, -1, keepdims=True)) / jnp.sqrt(q.shape[0])
    return ds @ k, ds.T @ q


window_attn.defvjp(wa_fwd, wa_bwd)


@custom_vjp
def corr_coef(x, y):
    xc, yc = x - x.mean(), y - y.mean()
    return jnp.sum(xc * yc) / jnp.sqrt(jnp.sum(xc ** 2) * jnp.sum(yc ** 2))


def co_fwd(x, y):
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError("two samples")
    return corr_coef(x, y), (x, y)


def co_bwd(res, g):
    x, y = res
    xc, yc = x - x.mean(), y - y.mean()
    sx, sy = jnp.sqrt(jnp.sum(xc ** 2)), jnp.sqrt(jnp.sum(yc ** 2))
    r = jnp.sum(xc * yc) / (sx * sy)
    return g * (yc / sy - r * xc / sx) / sx, g * (xc / sx - r * yc / sy) / sy


corr_coef.defvjp(co_fwd, co_bwd)
