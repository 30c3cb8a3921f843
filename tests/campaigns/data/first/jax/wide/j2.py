import jax, jax.numpy as jnp
import numpy as np
from functools import partial


@jax.custom_vjp
def segment_softmax(scores, seg):
    n = 5
    mx = jax.ops.segment_max(scores, seg, n)
    e = jnp.exp(scores - mx[seg])
    return e / jax.ops.segment_sum(e, seg, n)[seg]


def f(scores, seg):
    y = segment_softmax(scores, seg)
    return y, (y, seg)


def b(r, g):
    y, seg = r
    t = jax.ops.segment_sum(g * y, seg, 5)[seg]
    return y * (g - t), None


segment_softmax.defvjp(f, b)


@partial(jax.custom_vjp, nondiff_argnums=(1, 2))
def pnorm(x, p=3.0, axis=-1):
    return jnp.sum(jnp.abs(x) ** p, axis=axis) ** (1 / p)


def pnorm_f(x, p, axis):
    n = pnorm(x, p, axis)
    return n, (x, n)


def pnorm_b(p, axis, r, g):
    x, n = r
    return (jnp.expand_dims(g / n ** (p - 1), axis) * x * jnp.abs(x) ** (p - 2),)


pnorm.defvjp(pnorm_f, pnorm_b)


@jax.custom_vjp
def spring_energy(pos, edges, rest, k):
    d = pos[edges[:, 0]] - pos[edges[:, 1]]
    l = jnp.sqrt(jnp.sum(d * d, -1))
    return 0.5 * jnp.sum(k * (l - rest) ** 2)


def spring_fwd(pos, edges, rest, k):
    assert pos.ndim == 2 and edges.ndim == 2 and edges.shape[1] == 2 and rest.shape == k.shape == edges.shape[:1]
    d = pos[edges[:, 0]] - pos[edges[:, 1]]
    l = jnp.sqrt(jnp.sum(d * d, -1))
    return 0.5 * jnp.sum(k * (l - rest) ** 2), (pos, edges, d, l, rest, k)


def spring_bwd(res, g):
    pos, edges, d, l, rest, k = res
    e = l - rest
    f = (g * k * e / l)[:, None] * d
    dpos = jnp.zeros_like(pos).at[edges[:, 0]].set(f)
    dpos = dpos.at[edges[:, 1]].add(-f)
    return dpos, None, -g * k * e, 0.5 * g * e ** 2


spring_energy.defvjp(spring_fwd, spring_bwd)


@jax.custom_jvp
def log1mexp(x):
    """log(1 - exp(-x)), x > 0"""
    return jnp.where(x < 0.693, jnp.log(-jnp.expm1(-x)), jnp.log1p(-jnp.exp(-x)))


@log1mexp.defjvp
def _(p, t):
    x, = p
    dx, = t
    return log1mexp(x), dx / jnp.expm1(x)


@jax.custom_jvp
def safe_arccos(c):
    return jnp.arccos(jnp.clip(c, -1.0, 1.0))


@safe_arccos.defjvp
def _acj(p, t):
    (c,), (dc,) = p, t
    inside = jnp.abs(c) < 1
    s = jnp.sqrt(jnp.where(inside, 1 - c * c, 1.0))
    return safe_arccos(c), jnp.where(inside, -dc / s, 0.0)


@jax.custom_jvp
def kepler_residual_root(M, e):
    """eccentric anomaly by 12 Newton steps"""
    E = M + e * jnp.sin(M)
    for _ in range(12):
        E = E - (E - e * jnp.sin(E) - M) / (1 - e * jnp.cos(E))
    return E


@kepler_residual_root.defjvp
def _kj(primals, tangents):
    M, e = primals
    dM, de = tangents
    E = kepler_residual_root(M, e)
    return E, (dM + de * jnp.sin(M)) / (1 - e * jnp.cos(E))


@partial(jax.custom_vjp, nondiff_argnums=(1,))
def avg_pool2(x, k=2):
    h, w = x.shape[-2] // k, x.shape[-1] // k
    x = x[..., : h * k, : w * k]
    return x.reshape(x.shape[:-2] + (h, k, w, k)).mean((-3, -1))


def ap_fwd(x, k):
    return avg_pool2(x, k), x.shape


def ap_bwd(k, shape, g):
    up = jnp.repeat(jnp.repeat(g, k, -2), k, -1) / (k * k)
    pad = [(0, 0)] * (len(shape) - 2) + [(0, shape[-2] - up.shape[-2]), (0, shape[-1] - up.shape[-1])]
    return (jnp.pad(up, pad),)


avg_pool2.defvjp(ap_fwd, ap_bwd)


@jax.custom_vjp
def mean_and_std(x):
    m = x.mean(-1)
    v = ((x - m[..., None]) ** 2).mean(-1)
    return m, jnp.sqrt(v + 1e-5)


def ms_fwd(x):
    m, s = mean_and_std(x)
    return (m, s), (x, m, s)


def ms_bwd(res, cts):
    x, m, s = res
    gm, gs = cts
    n = x.shape[-1]
    return (gm[..., None] / n + gs[..., None] * (x - m[..., None]) / ((n - 1) * s[..., None]),)


mean_and_std.defvjp(ms_fwd, ms_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def conv1d_same(x, w, stride=1):
    # x (N, C, L), w (O, C, K), zero padding K // 2 on both sides
    k = w.shape[-1]
    return jax.lax.conv_general_dilated(x, w, (stride,), [(k // 2, k // 2)])


def c_fwd(x, w, stride):
    return conv1d_same(x, w, stride), (x, w)


def c_bwd(stride, res, g):
    x, w = res
    k = w.shape[-1]
    L = x.shape[-1]
    xp = jnp.pad(x, [(0, 0), (0, 0), (k // 2, k // 2)])
    idx = jnp.arange(g.shape[-1])[:, None] + jnp.arange(k)[None]
    win = xp[:, :, idx]                      # n c t k
    dw = jnp.einsum("not,nctk->ock", g, win)
    dwin = jnp.einsum("not,ock->nctk", g, w)
    dxp = jnp.zeros_like(xp).at[:, :, idx].add(dwin)
    return dxp[:, :, k // 2: k // 2 + L], dw


conv1d_same.defvjp(c_fwd, c_bwd)


@jax.custom_vjp
def sinkhorn_row(cost, eps):
    p = jax.nn.softmax(-cost / eps, axis=1)
    return jnp.sum(p * cost)


def sr_fwd(cost, eps):
    p = jax.nn.softmax(-cost / eps, axis=1)
    return jnp.sum(p * cost), (cost, p, eps)


def sr_bwd(res, g):
    cost, p, eps = res
    m = jnp.sum(p * cost, 1, keepdims=True)
    dc = p * (1 - (cost - m) / eps)
    de = jnp.sum(p * (cost - m) ** 2) / eps ** 2
    return g * dc, g * de


sinkhorn_row.defvjp(sr_fwd, sr_bwd)


@jax.custom_vjp
def ste_free_round_scale(x, scale):
    q = jnp.round(x / scale)
    return q * scale


def rs_fwd(x, scale):
    q = jnp.round(x / scale)
    return q * scale, (q, jnp.zeros_like(x))


def rs_bwd(r, g):
    q, z = r
    return z, (g * q).sum()


ste_free_round_scale.defvjp(rs_fwd, rs_bwd)


@jax.custom_vjp
def unit(v, eps):
    n = jnp.sqrt(jnp.sum(v * v, -1, keepdims=True) + eps)
    return v / n


def unit_fwd(v, eps):
    n = jnp.sqrt(jnp.sum(v * v, -1, keepdims=True) + eps)
    return v / n, (v / n, n)


def unit_bwd(res, g):
    u, n = res
    return (g - u * jnp.sum(g * u, -1, keepdims=True)) / n, None


unit.defvjp(unit_fwd, unit_bwd)
