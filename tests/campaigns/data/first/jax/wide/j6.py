import functools

import jax
import jax.numpy as jnp
from jax import lax
import numpy as np


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def pad_edges(x, mode="zero"):
    """one sample on both sides of the last axis"""
    if mode == "zero":
        return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(1, 1)])
    if mode == "edge":
        return jnp.concatenate([x[..., :1], x, x[..., -1:]], -1)
    if mode == "wrap":
        return jnp.concatenate([x[..., -1:], x, x[..., :1]], -1)
    raise ValueError("mode is 'zero', 'edge' or 'wrap'")


def pe_fwd(x, mode):
    return pad_edges(x, mode), None


def pe_bwd(mode, _, g):
    d = g[..., 1:-1]
    if mode != "zero":
        d = d.at[..., 0].add(g[..., 0]).at[..., -1].add(g[..., -1])
    return (d,)


pad_edges.defvjp(pe_fwd, pe_bwd)


@jax.custom_vjp
def mlp_block(params, x):
    """params is a dict of w1, b1, w2"""
    h = jax.nn.silu(x @ params["w1"] + params["b1"])
    return h @ params["w2"]


def mb_fwd(params, x):
    if x.ndim != 2:
        raise ValueError("x (N, D)")
    z = x @ params["w1"] + params["b1"]
    return jax.nn.silu(z) @ params["w2"], (params, x, z)


def mb_bwd(res, g):
    params, x, z = res
    s = jax.nn.sigmoid(z)
    h = z * s
    gz = (g @ params["w2"].T) * (s + h * (1 - s))
    return {"w1": x.T @ gz, "b1": gz.sum(0), "w2": h.T @ g}, gz @ params["w1"].T


mlp_block.defvjp(mb_fwd, mb_bwd)


@jax.custom_vjp
def viterbi_score(em, tr):
    """best path's score: em (T, S), tr (S, S)"""
    def step(a, e):
        return (a[:, None] + tr).max(0) + e, None
    a, _ = lax.scan(step, em[0], em[1:])
    return a.max()


def vs_fwd(em, tr):
    def step(a, e):
        m = a[:, None] + tr
        return m.max(0) + e, m.argmax(0)
    a, bp = lax.scan(step, em[0], em[1:])
    return a.max(), (a.argmax(), bp, em.shape)


def vs_bwd(res, g):
    last, bp, (T, S) = res

    def back(s, b):
        return b[s], (b[s], s)
    first, (frm, to) = lax.scan(back, last, bp, reverse=True)
    path = jnp.concatenate([first[None], to])
    dem = jnp.zeros((T, S), g.dtype).at[jnp.arange(T), path].set(g)
    dtr = jnp.zeros((S, S), g.dtype).at[frm, to].set(g)
    return dem, dtr


viterbi_score.defvjp(vs_fwd, vs_bwd)


@jax.custom_vjp
def phase_mul(z, phi):
    """z e^{i phi}, z complex, phi real, one shape"""
    if not jnp.iscomplexobj(z):
        raise TypeError("z must be complex")
    return z * jnp.exp(1j * phi)


def pm_fwd(z, phi):
    if z.shape != phi.shape:
        raise ValueError("shapes")
    return phase_mul(z, phi), (z, phi)


def pm_bwd(res, g):
    z, phi = res
    e = jnp.exp(1j * phi)
    return g * e, jnp.real(g * 1j * z * e)


phase_mul.defvjp(pm_fwd, pm_bwd)


@jax.custom_vjp
def fisher_z(r):
    r = jnp.clip(r, -0.999, 0.999)
    return jnp.arctanh(r)


def fz_fwd(r):
    return fisher_z(r), r


def fz_bwd(r, g):
    return (g / (1 - r * r),)


fisher_z.defvjp(fz_fwd, fz_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def moment(x, k=2, axis=-1):
    """central moment"""
    c = x - x.mean(axis, keepdims=True)
    return (c ** k).mean(axis)


def mo_fwd(x, k, axis):
    return moment(x, k, axis), x


def mo_bwd(k, axis, x, g):
    c = x - x.mean(axis, keepdims=True)
    n = x.shape[axis]
    return (jnp.expand_dims(g, axis) * k * c ** (k - 1) / n,)


moment.defvjp(mo_fwd, mo_bwd)


@jax.custom_vjp
def barycentric(tri, p):
    """coordinates of p (2,) in the triangle tri (3, 2)"""
    a = jnp.stack([tri[0] - tri[2], tri[1] - tri[2]], 1)
    uv = jnp.linalg.solve(a, p - tri[2])
    return jnp.append(uv, 1 - uv.sum())


def ba_fwd(tri, p):
    if tri.shape != (3, 2) or p.shape != (2,):
        raise ValueError("triangle")
    out = barycentric(tri, p)
    return out, (tri, out)


def ba_bwd(res, g):
    tri, lam = res
    a = jnp.stack([tri[0] - tri[2], tri[1] - tri[2]], 1)
    gu = g[:2] - g[2]
    w = jnp.linalg.solve(a.T, gu)
    return -jnp.outer(lam, w), w


barycentric.defvjp(ba_fwd, ba_bwd)


@jax.custom_vjp
def cumprod_safe(x):
    return jnp.cumprod(x, -1)


def cps_fwd(x):
    return jnp.cumprod(x, -1), x


def cps_bwd(x, g):
    n = x.shape[-1]
    def one(i):
        y = jnp.cumprod(jnp.where(jnp.arange(n) == i, 1.0, x), -1)
        return jnp.sum(jnp.where(jnp.arange(n) >= i, g * y, 0), -1)
    return (jnp.stack([one(i) for i in range(n)], -1),)


cumprod_safe.defvjp(cps_fwd, cps_bwd)


@jax.custom_jvp
def xlogy_safe(x, y):
    return jnp.where(x == 0, 0.0, x * jnp.log(jnp.where(x == 0, 1.0, y)))


@xlogy_safe.defjvp
def _xj(p, t):
    x, y = p
    dx, dy = t
    return xlogy_safe(x, y), jnp.where(x == 0, 0.0, jnp.log(jnp.where(x == 0, 1.0, y))) * dx + x / y * dy


_cache = {}


@jax.custom_vjp
def toeplitz_apply(c, x):
    """lower triangular Toeplitz times x"""
    n = x.shape[0]
    i = jnp.arange(n)
    T = jnp.where(i[:, None] >= i[None], c[jnp.clip(i[:, None] - i[None], 0)], 0)
    return T @ x


def ta_fwd(c, x):
    if c.shape != x.shape or c.ndim != 1:
        raise ValueError("toeplitz")
    return toeplitz_apply(c, x), (c, x)


def ta_bwd(res, g):
    c, x = res
    n = x.shape[0]
    i = jnp.arange(n)
    low = i[:, None] >= i[None]
    T = jnp.where(low, c[jnp.clip(i[:, None] - i[None], 0)], 0)
    dc = jnp.zeros_like(c).at[i[:, None] - i[None]].add(jnp.outer(g, x))
    return dc, T.T @ g


toeplitz_apply.defvjp(ta_fwd, ta_bwd)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def film_norm(x, scale, shift, eps=1e-5):
    """feature-wise affine on normalised (B, T, D), scale and shift (B, D)"""
    m = x.mean(-1, keepdims=True)
    v = x.var(-1, keepdims=True)
    return (x - m) * lax.rsqrt(v + eps) * (1 + scale[:, None]) + shift[:, None]


def fn_fwd(x, scale, shift, eps):
    if x.ndim != 3 or scale.shape != (x.shape[0], x.shape[2]) or shift.shape != scale.shape:
        raise ValueError("film")
    m = x.mean(-1, keepdims=True)
    r = lax.rsqrt(x.var(-1, keepdims=True) + eps)
    h = (x - m) * r
    return h * (1 + scale[:, None]) + shift[:, None], (h, r, scale)


def fn_bwd(eps, res, g):
    h, r, scale = res
    gh = g * scale[:, None]
    dx = r * (gh - gh.mean(-1, keepdims=True) - h * (gh * h).mean(-1, keepdims=True))
    return dx, (g * h).sum(1), g.sum(1)


film_norm.defvjp(fn_fwd, fn_bwd)


@jax.custom_vjp
def pool_by_count(x, ids):
    """mean of rows by id (6 groups)"""
    s = jax.ops.segment_sum(x, ids, 6)
    n = jax.ops.segment_sum(jnp.ones(ids.shape, x.dtype), ids, 6)
    return s / jnp.maximum(n, 1)[:, None]


def pc_fwd(x, ids):
    if x.ndim != 2 or ids.shape != x.shape[:1]:
        raise ValueError("pool_by_count")
    n = jax.ops.segment_sum(jnp.ones(ids.shape, x.dtype), ids, 6)
    return pool_by_count(x, ids), (ids, n)


def pc_bwd(res, g):
    ids, n = res
    return g[ids] / jnp.maximum(n, 1)[: ids.shape[0], None], None


@jax.custom_vjp
def gumbel_cdf_nll(x, loc, scale):
    z = (x - loc) / scale
    return jnp.sum(z + jnp.exp(-z) + jnp.log(scale))


def gc_fwd(x, loc, scale):
    if not jnp.shape(x) == jnp.shape(loc) == jnp.shape(scale):
        raise ValueError("shapes")
    return gumbel_cdf_nll(x, loc, scale), (x, loc, scale)


def gc_bwd(res, g):
    x, loc, scale = res
    z = (x - loc) / scale
    d = g * (1 - jnp.exp(-z)) / scale
    return d, -d, g * (1 / scale) - d * z


gumbel_cdf_nll.defvjp(gc_fwd, gc_bwd)


@jax.custom_vjp
def poly_area(v):
    """signed area of a polygon (N, 2)"""
    w = jnp.roll(v, -1, 0)
    return 0.5 * jnp.sum(v[:, 0] * w[:, 1] - w[:, 0] * v[:, 1])


def pa_fwd(v):
    if v.ndim != 2 or v.shape[1] != 2:
        raise ValueError("polygon (N, 2)")
    return poly_area(v), v


def pa_bwd(v, g):
    nx, pv = jnp.roll(v, -1, 0), jnp.roll(v, 1, 0)
    d = nx - pv
    return (0.5 * g * jnp.stack([d[:, 1], d[:, 0]], 1),)


poly_area.defvjp(pa_fwd, pa_bwd)


@jax.custom_vjp
def depth_to_disp(d, near, far):
    return (1 / jnp.clip(d, near, far) - 1 / far) / (1 / near - 1 / far)


def dd_fwd(d, near, far):
    if near.shape != () or far.shape != ():
        raise ValueError("near, far: scalars")
    return depth_to_disp(d, near, far), (d, near, far)


def dd_bwd(res, g):
    d, near, far = res
    k = 1 / near - 1 / far
    return jnp.where((d > near) & (d < far), -g / (d * d * k), 0.0), None, None


depth_to_disp.defvjp(dd_fwd, dd_bwd)


@jax.custom_vjp
def haversine(a, b):
    """great circle distance on the unit sphere, a, b (..., 2) lat, lon"""
    h = _hav(b[..., 0] - a[..., 0]) + jnp.cos(a[..., 0]) * jnp.cos(b[..., 0]) * _hav(b[..., 1] - a[..., 1])
    return 2 * jnp.arcsin(jnp.sqrt(h))


def _hav(t):
    return jnp.sin(t / 2) ** 2


def hv_fwd(a, b):
    if a.shape != b.shape or a.shape[-1] != 2:
        raise ValueError("lat, lon")
    return haversine(a, b), (a, b)


def hv_bwd(res, g):
    a, b = res
    dl, do = b[..., 0] - a[..., 0], b[..., 1] - a[..., 1]
    ca, cb = jnp.cos(a[..., 0]), jnp.cos(b[..., 0])
    h = _hav(dl) + ca * cb * _hav(do)
    k = g / jnp.sqrt(h * (1 - h))
    dlat = 0.5 * jnp.sin(dl)
    dlon = k * ca * cb * 0.5 * jnp.sin(do)
    da0 = k * (-dlat - jnp.sin(a[..., 0]) * cb * _hav(do))
    db0 = k * (dlat + ca * jnp.sin(b[..., 0]) * _hav(do))
    return jnp.stack([da0, -dlon], -1), jnp.stack([db0, dlon], -1)


haversine.defvjp(hv_fwd, hv_bwd)


@jax.custom_vjp
def expm_sym_trace(a):
    """tr exp((a + a') / 2)"""
    return jnp.sum(jnp.exp(jnp.linalg.eigvalsh((a + a.T) / 2)))


def es_fwd(a):
    lam, v = jnp.linalg.eigh((a + a.T) / 2)
    return jnp.sum(jnp.exp(lam)), (lam, v)


def es_bwd(res, g):
    lam, v = res
    return (g * (v * jnp.exp(lam)) @ v.T,)


expm_sym_trace.defvjp(es_fwd, es_bwd)


@jax.custom_vjp
def top1_gate(logits, values):
    """value of the best expert times its probability: logits (N, E), values (N, E)"""
    p = jax.nn.softmax(logits, -1)
    i = jnp.argmax(logits, -1)[:, None]
    return jnp.take_along_axis(p * values, i, 1)[:, 0]


def tg_fwd(logits, values):
    if logits.ndim != 2 or logits.shape != values.shape:
        raise ValueError("experts")
    p = jax.nn.softmax(logits, -1)
    i = jnp.argmax(logits, -1)
    return top1_gate(logits, values), (p, i, values)


def tg_bwd(res, g):
    p, i, values = res
    hot = jax.nn.one_hot(i, p.shape[1], dtype=p.dtype)
    dv = g[:, None] * hot * p
    gp = g[:, None] * hot
    dl = p * (gp - jnp.sum(gp * p, -1, keepdims=True))
    return dl, dv


top1_gate.defvjp(tg_fwd, tg_bwd)
pool_by_count.defvjp(pc_fwd, pc_bwd)
