from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular


@jax.custom_vjp
def solve_lower(l, b):
    if l.ndim != 2 or l.shape[0] != l.shape[1] or b.ndim != 1 or b.shape[0] != l.shape[0]:
        raise ValueError("expected l (N, N) and b (N,)")
    return solve_triangular(l, b, lower=True)


def solve_lower_fwd(l, b):
    x = solve_lower(l, b)
    return x, (l, x)


def solve_lower_bwd(res, g):
    l, x = res
    u = solve_triangular(l, g, lower=True, trans=1)
    return -jnp.tril(jnp.outer(u, x)), u


solve_lower.defvjp(solve_lower_fwd, solve_lower_bwd)


@jax.custom_vjp
def spd_logdet(a):
    if a.ndim != 2 or a.shape[0] != a.shape[1]:
        raise ValueError("expected a square matrix")
    return 2 * jnp.log(jnp.diagonal(jnp.linalg.cholesky((a + a.T) / 2))).sum()


def spd_logdet_fwd(a):
    return spd_logdet(a), a


def spd_logdet_bwd(a, g):
    return (g * jnp.linalg.inv((a + a.T) / 2),)


spd_logdet.defvjp(spd_logdet_fwd, spd_logdet_bwd)


@jax.custom_vjp
def inverse_quadratic(a, b):
    if a.ndim != 2 or a.shape[0] != a.shape[1] or b.shape != a.shape[:1]:
        raise ValueError("expected a (N, N) and b (N,)")
    return b @ jnp.linalg.solve((a + a.T) / 2, b)


def inverse_quadratic_fwd(a, b):
    return inverse_quadratic(a, b), jnp.linalg.solve((a + a.T) / 2, b)


def inverse_quadratic_bwd(x, g):
    return -g * jnp.outer(x, x), g * x


inverse_quadratic.defvjp(inverse_quadratic_fwd, inverse_quadratic_bwd)


@jax.custom_vjp
def kronecker(a, b):
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("expected two matrices")
    return jnp.einsum("ij,kl->ikjl", a, b).reshape(a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])


def kronecker_fwd(a, b):
    return kronecker(a, b), (a, b)


def kronecker_bwd(res, g):
    a, b = res
    g = g.reshape(a.shape[0], b.shape[0], a.shape[1], b.shape[1])
    return jnp.einsum("ikjl,kl->ij", g, b), jnp.einsum("ikjl,ij->kl", g, a)


kronecker.defvjp(kronecker_fwd, kronecker_bwd)


@jax.custom_vjp
def ridge_fit(x, y, lam):
    if x.ndim != 2 or y.shape != x.shape[:1] or lam.ndim:
        raise ValueError("expected x (N, D), y (N,) and one number")
    return jnp.linalg.solve(x.T @ x + lam * jnp.eye(x.shape[1], dtype=x.dtype), x.T @ y)


def ridge_fit_fwd(x, y, lam):
    w = ridge_fit(x, y, lam)
    return w, (x, y, lam, w)


def ridge_fit_bwd(res, g):
    x, y, lam, w = res
    u = jnp.linalg.solve(x.T @ x + lam * jnp.eye(x.shape[1], dtype=x.dtype), g)
    return jnp.outer(y - x @ w, u) - jnp.outer(x @ u, w), x @ u, -(u @ w)


ridge_fit.defvjp(ridge_fit_fwd, ridge_fit_bwd)


@jax.custom_vjp
def covariance(x):
    if x.ndim != 2 or x.shape[0] < 2:
        raise ValueError("expected (N, D) with N > 1")
    d = x - x.mean(0)
    return d.T @ d / (x.shape[0] - 1)


def covariance_fwd(x):
    return covariance(x), x


def covariance_bwd(x, g):
    d = x - x.mean(0)
    return (2 * d @ g / (x.shape[0] - 1),)


covariance.defvjp(covariance_fwd, covariance_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def bin_sums(x, idx, n=4):
    if x.ndim != 2 or idx.shape != x.shape[:1] or not jnp.issubdtype(idx.dtype, jnp.integer):
        raise ValueError("expected x (N, D) and integers (N,)")
    return jnp.zeros((n, x.shape[1]), x.dtype).at[idx].add(x)


def bin_sums_fwd(x, idx, n):
    return bin_sums(x, idx, n), idx


def bin_sums_bwd(n, idx, g):
    return g.at[idx].get(mode="fill", fill_value=0), None


bin_sums.defvjp(bin_sums_fwd, bin_sums_bwd)


@jax.custom_vjp
def gather_cols(x, idx):
    if x.ndim != 2 or idx.ndim != 2 or idx.shape[0] != x.shape[0] or not jnp.issubdtype(idx.dtype, jnp.integer):
        raise ValueError("expected x (N, K) and integers (N, M)")
    return jnp.take_along_axis(x, idx, axis=1)


def gather_cols_fwd(x, idx):
    return gather_cols(x, idx), (x, idx)


def gather_cols_bwd(res, g):
    x, idx = res
    return jnp.zeros_like(x).at[jnp.arange(x.shape[0])[:, None], idx].set(g), None


gather_cols.defvjp(gather_cols_fwd, gather_cols_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(2,))
def segment_softmax(x, seg, n=3):
    if x.ndim != 1 or seg.shape != x.shape or not jnp.issubdtype(seg.dtype, jnp.integer):
        raise ValueError("expected x (N,) and integers (N,)")
    e = jnp.exp(x - x.max())
    return e / jnp.zeros(n, x.dtype).at[seg].add(e)[seg]


def segment_softmax_fwd(x, seg, n):
    y = segment_softmax(x, seg, n)
    return y, (y, seg)


def segment_softmax_bwd(n, res, g):
    y, seg = res
    tot = jnp.zeros(n, y.dtype).at[seg].add(g)[seg]
    return y * (g - y * tot), None


segment_softmax.defvjp(segment_softmax_fwd, segment_softmax_bwd)


@partial(jax.custom_vjp, nondiff_argnums=(4,))
def coo_matvec(vals, rows, cols, v, n=4):
    if vals.ndim != 1 or rows.shape != vals.shape or cols.shape != vals.shape or v.ndim != 1:
        raise ValueError("expected three lists of entries and a vector")
    return jnp.zeros(n, vals.dtype).at[rows].add(vals * v[cols])


def coo_matvec_fwd(vals, rows, cols, v, n):
    return coo_matvec(vals, rows, cols, v, n), (vals, rows, cols, v)


def coo_matvec_bwd(n, res, g):
    vals, rows, cols, v = res
    gr = g[rows]
    return gr * v[cols], None, None, jnp.zeros_like(v).at[cols].add(vals * gr)


coo_matvec.defvjp(coo_matvec_fwd, coo_matvec_bwd)


@jax.custom_vjp
def masked_bag_mean(table, ids, mask):
    if table.ndim != 2 or ids.ndim != 2 or mask.shape != ids.shape or mask.dtype != jnp.bool_:
        raise ValueError("expected table (V, D), ids (B, L) and a boolean mask (B, L)")
    m = mask.astype(table.dtype)[:, :, None]
    return (table[ids] * m).sum(1) / jnp.maximum(m.sum(1), 1)


def masked_bag_mean_fwd(table, ids, mask):
    return masked_bag_mean(table, ids, mask), (table, ids, mask)


def masked_bag_mean_bwd(res, g):
    table, ids, mask = res
    m = mask.astype(table.dtype)[:, :, None]
    rows = g[:, None, :] * m / ids.shape[1]
    return jnp.zeros_like(table).at[ids].add(rows), None, None


masked_bag_mean.defvjp(masked_bag_mean_fwd, masked_bag_mean_bwd)


def _pads(k):
    return (k - 1) // 2, k - 1 - (k - 1) // 2


@jax.custom_vjp
def conv_same(x, w):
    if x.ndim != 2 or w.ndim != 3 or w.shape[1] != x.shape[1] or w.shape[0] < 1:
        raise ValueError("expected x (L, I) and w (K, I, O)")
    k, n = w.shape[0], x.shape[0]
    p = jnp.pad(x, (_pads(k), (0, 0)))
    return sum(p[i:i + n] @ w[i] for i in range(k))


def conv_same_fwd(x, w):
    return conv_same(x, w), (x, w)


def conv_same_bwd(res, g):
    x, w = res
    k, n = w.shape[0], x.shape[0]
    left, right = _pads(k)
    p = jnp.pad(x, ((left, right), (0, 0)))
    dp = jnp.zeros_like(p)
    for i in range(k):
        dp = dp.at[i:i + n].add(g @ w[i].T)
    return dp[left:left + n], jnp.stack([p[i:i + n].T @ g for i in range(k)])


conv_same.defvjp(conv_same_fwd, conv_same_bwd)
