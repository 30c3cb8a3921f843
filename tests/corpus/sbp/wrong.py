"""False claims, six of each kind; what else these ops claim is true.

Some are seen on uneven shards alone, on three devices alone, with mixed signs alone, or with a second shape or attribute.
"""

from __future__ import annotations

from tests.corpus.sbp.model import Op
from tests.corpus.sbp.right import (
    ANY,
    BIAS,
    COLUMNS,
    EACH,
    INDEX,
    INDEX_DTYPES,
    KEPT_2,
    KEPT_3,
    LINEAR,
    MATMUL,
    ONE,
    RANK_2,
    ROWS,
    TWO,
    TWO_DTYPES,
    TWO_EACH,
)

SOFTMAX = "e = np.exp(x - x.max(axis=1, keepdims=True))\nreturn e / e.sum(axis=1, keepdims=True)"
HALVES = RANK_2 + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(0) / 2, x.At(1)});'
FLAT = RANK_2 + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(0) * x.At(1)});'

WRONG = (
    # --- split along an axis that the op works along
    Op("w_softmax", SOFTMAX, "S0 -> S0\nS1 -> S1", shape=KEPT_2, kind="along"),
    Op("w_cumsum", "return np.cumsum(x, axis=0)", "S0 -> S0\nS1 -> S1", shape=KEPT_2, kind="along"),
    Op("w_layer", "return x - x.mean(axis=1, keepdims=True)", "S1 -> S1", shape=KEPT_2, kind="along"),
    Op("w_sort", "return np.sort(x, axis=0)", "S0 -> S0", shape=KEPT_2, kind="along"),
    Op("w_normed", "return x / np.sqrt((x * x).sum(axis=2, keepdims=True) + 1)", "S0 -> S0\nS1 -> S1\nS2 -> S2",
       shape=KEPT_3, kind="along"),
    Op("w_maxed", "return x / (1 + np.abs(x).max())", "S0 -> S0", shape=KEPT_2, kind="along"),
    # --- partial sums through what is not linear
    Op("w_relu", "return np.maximum(x, 0)", LINEAR, kind="nonlinear"),
    Op("w_affine", "return 2 * x + 1e-3", LINEAR, kind="nonlinear"),
    Op("w_square", "return x * x", LINEAR, kind="nonlinear"),
    Op("w_product", "return x * w", TWO_EACH + "\nP P -> P", ("x", "w"), shape=TWO, dtype=TWO_DTYPES, kind="nonlinear"),
    Op("w_bias_p", "return x + w", "S0 B -> S0\nP B -> P", ("x", "w"), shape=BIAS, dtype=TWO_DTYPES, kind="nonlinear"),
    Op("w_tiny_bend", "return x + 1e-4 * x ** 3", LINEAR, kind="nonlinear"),
    # --- the result lies otherwise than claimed
    Op("w_transposed", "return x.T.copy()", "S0 -> S0", shape=RANK_2
       + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(1), x.At(0)});', kind="output"),
    Op("w_sum_b", "return x.sum(axis=0)", "S0 -> B\nS1 -> S0", shape=COLUMNS, kind="output"),
    Op("w_mean_p", "return x.mean(axis=0)", "S0 -> P\nS1 -> S0", shape=COLUMNS, kind="output"),
    Op("w_max_p", "return x.max(axis=0)", "S0 -> P", shape=COLUMNS, kind="output"),
    Op("w_each_p", "return np.sin(x)", "S0 -> P", shape=KEPT_2, kind="output"),
    Op("w_copy_p", "return x.copy()", "B -> P", shape=KEPT_2, kind="output"),
    # --- mixed signs: right for parts of one sign
    Op("w_abs", "return np.abs(x)", LINEAR, kind="signs"),
    Op("w_leaky", "return np.where(x > 0, x, 0.1 * x)", LINEAR, kind="signs"),
    Op("w_l1", "return np.abs(x).sum(axis=1)", "S0 -> S0\nS1 -> P\nP -> P", shape=ROWS, kind="signs"),
    Op("w_positive", "return np.sqrt(x * x) * 3", LINEAR, kind="signs"),
    Op("w_clamped", "return x * (x > -1e9) * (x >= 0) + x * (x < 0) * 0.999", LINEAR, kind="signs"),
    Op("w_signed", "return np.where(x.sum(axis=1, keepdims=True) > 0, x, -x)", "S0 -> S0\nP -> P", shape=KEPT_2,
       kind="signs"),
    # --- inputs cut in ways that do not go together
    Op("w_matmul_b", "return x @ w", "S0 B -> S0\nS1 S0 -> B", ("x", "w"), shape=MATMUL, dtype=TWO_DTYPES, kind="pairing"),
    Op("w_matmul_s", "return x @ w", "S1 S1 -> S1", ("x", "w"), shape=MATMUL, dtype=TWO_DTYPES, kind="pairing"),
    Op("w_bias_s", "return x + w", "S0 S0 -> S0", ("x", "w"), shape=BIAS, dtype=TWO_DTYPES, kind="pairing"),
    Op("w_half", "return x * w", "S0 B -> S0", ("x", "w"), shape=TWO, dtype=TWO_DTYPES, kind="pairing"),
    Op("w_gather", "return x[w]", "S0 B -> P", ("x", "w"), shape=INDEX, dtype=INDEX_DTYPES, kind="pairing",
       cases="for n, m, k in ((7, 5, 9), (4, 3, 5)):\n        yield {'x': rng.standard_normal((n, m)), 'w': rng.integers(0, n, k)}"),
    Op("w_index_p", "return x[w]", "B P -> P", ("x", "w"), shape=INDEX, dtype=INDEX_DTYPES, kind="pairing",
       cases="for n, m, k in ((7, 5, 9), (4, 3, 5)):\n        yield {'x': rng.standard_normal((n, m)), 'w': rng.integers(0, n, k)}"),
    # --- where an element stands
    Op("w_flip", "return x[::-1].copy()", "S0 -> S0\nS1 -> S1", shape=KEPT_2, kind="place"),
    Op("w_rolled", "return np.roll(x, 1, axis=0)", "S0 -> S0", shape=KEPT_2, kind="place"),
    Op("w_positions", "return x + np.arange(x.shape[0])[:, None]", "S0 -> S0", shape=KEPT_2, kind="place"),
    Op("w_mask", "return x * (np.arange(x.shape[1]) > 0)", "S0 -> S0\nS1 -> S1", shape=KEPT_2, kind="place"),
    Op("w_diff", "return x - np.concatenate([x[:, :1], x[:, :-1]], axis=1)", "S1 -> S1", shape=KEPT_2, kind="place"),
    Op("w_triangle", "return np.tril(x)", "S0 -> S0", shape=KEPT_2, kind="place"),
    # --- uneven shards alone, or three devices alone
    Op("w_alternating", "return x * (1 - 2 * (np.arange(x.shape[0]) % 2))[:, None]", "S0 -> S0",
       shape=KEPT_2, kind="uneven"),
    Op("w_pairs", "n = x.shape[0] // 2\nreturn x[:2 * n].reshape(n, 2, -1).sum(axis=1)", "S0 -> S0", shape=HALVES,
       kind="uneven"),
    Op("w_flat", "return x.reshape(-1)", "S0 -> S0", shape=FLAT, kind="uneven"),
    Op("w_strided", "return x[::2].copy()", "S0 -> S0", shape=RANK_2
       + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({(x.At(0) + 1) / 2, x.At(1)});', kind="uneven"),
    Op("w_three", "return x * (1 - 2 * (np.arange(x.shape[0]) % 2))[:, None]", """
      if (ctx->parallel_num() == 3) { ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0).Split(user_op::OpArg("y", 0), 0).Build(); }
      ctx->NewBuilder().Split(user_op::OpArg("x", 0), 1).Split(user_op::OpArg("y", 0), 1).Build();""",
       shape=KEPT_2, kind="uneven"),
    Op("w_quarters", "return x + (np.arange(x.shape[1]) // 4 % 2)", "S1 -> S1",
       shape=RANK_2 + "CHECK_EQ_OR_RETURN(x.At(1) % 4, 0);\n" + '*ctx->Shape4ArgNameAndIndex("y", 0) = x;', kind="uneven"),
    # --- a second shape, rank or attribute
    Op("w_last_axis", "return x / (1 + (x * x).sum(axis=-1, keepdims=True))", "n > 1: S0 -> S0\nn > 2: S1 -> S1\n"
       "n > 2: S2 -> S2", kind="second"),
    Op("w_rank_3", "return x - x.mean(axis=1, keepdims=True) if x.ndim == 3 else 2 * x", EACH, kind="second"),
    Op("w_axis", "return np.cumsum(x, axis=attrs['axis'])", """
      FOR_RANGE(int64_t, i, 1, n) { ctx->NewBuilder().Split(user_op::OpArg("x", 0), i).Split(user_op::OpArg("y", 0), i).Build(); }""",
       attrs=('int32_t "axis", 0',), shape="""const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      CHECK_GE_OR_RETURN(ctx->Attr<int32_t>("axis"), 0);
      CHECK_LT_OR_RETURN(ctx->Attr<int32_t>("axis"), x.NumAxes());
      *ctx->Shape4ArgNameAndIndex("y", 0) = x;""", kind="second"),
    Op("w_flag", "return x + 1 if attrs['shifted'] else x", LINEAR, attrs=('bool "shifted", false',), kind="second"),
    Op("w_long", "return x if x.shape[0] < 12 else x - x.mean(axis=0)", "S0 -> S0", shape=KEPT_2, kind="second"),
    Op("w_whole", "return (x / 2).astype(x.dtype)", LINEAR, dtype=ANY, kind="second"),
    # --- sizes that the kernel reads
    Op("w_count", "return x / x.shape[0]", "S0 -> S0\nS1 -> S1", shape=KEPT_2, kind="sizes"),
    Op("w_mean", "return x.mean().reshape(1)", "S0 -> P", shape=ONE, kind="sizes"),
    Op("w_count_p", "return x.sum(axis=0) + x.shape[0]", "S0 -> P\nP -> P", shape=COLUMNS, kind="sizes"),
    Op("w_var", "return x.var(axis=0)", "S0 -> P", shape=COLUMNS, kind="sizes"),
    Op("w_scaled_root", "return x / np.sqrt(x.shape[1])", "S0 -> S0\nS1 -> S1", shape=KEPT_2, kind="sizes"),
    Op("w_smoothed", "return x + 1e-5 / x.shape[1]", "S1 -> S1", shape=KEPT_2, kind="sizes"),
    # --- the gradient's own claims
    Op("w_tanh_grad", "return np.tanh(x)", EACH, backward="return dy * (1 - y * y)",
       backward_claims="each: Si Si Si -> Si\nB P P -> P", kind="gradient"),
    Op("w_softmax_grad", SOFTMAX, "S0 -> S0", shape=KEPT_2, backward="return y * (dy - (dy * y).sum(axis=1, keepdims=True))",
       backward_claims="S0 S0 S0 -> S0\nS1 S1 S1 -> S1", kind="gradient"),
    Op("w_mean_grad", "return x.mean(axis=0)", "S1 -> S0", shape=COLUMNS,
       backward="return np.broadcast_to(dy / x.shape[0], x.shape).copy()", backward_claims="S0 B B -> S0", kind="gradient"),
    Op("w_square_grad", "return x * x", EACH, backward="return 2 * x * dy", backward_claims="P B P -> P", kind="gradient"),
    Op("w_norm_grad", "return x / np.sqrt((x * x).sum(axis=1, keepdims=True) + 1)", "S0 -> S0", shape=KEPT_2,
       backward="s = np.sqrt((x * x).sum(axis=1, keepdims=True) + 1)\nreturn dy / s - x * (x * dy).sum(axis=1, keepdims=True) / s ** 3",
       backward_claims="S0 S0 S0 -> S0\nB B S1 -> S1", kind="gradient"),
    Op("w_batch_grad", "return np.sin(x)", "S0 -> S0", shape=KEPT_2, backward="return dy * np.cos(x) + 0 * x.mean(axis=0) + "
       "1e-3 * dy.mean(axis=0)", backward_claims="S1 S1 S1 -> S1", kind="gradient"),
)




