"""Right ops: each claims all signatures that hold, so that nothing is refuted and nothing is left to suggest."""

from __future__ import annotations

from tests.corpus.sbp.model import FLOATS, SAME_DTYPE, Op

TWO = """CHECK_EQ_OR_RETURN(*ctx->Shape4ArgNameAndIndex("w", 0), *ctx->Shape4ArgNameAndIndex("x", 0));
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);"""
TWO_DTYPES = FLOATS + SAME_DTYPE + 'CHECK_EQ_OR_RETURN(*ctx->Dtype4ArgNameAndIndex("w", 0), dtype);'
RANK_2 = """const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      CHECK_EQ_OR_RETURN(x.NumAxes(), 2);
      """
RANK_3 = RANK_2.replace("2)", "3)")
KEPT_2 = RANK_2 + '*ctx->Shape4ArgNameAndIndex("y", 0) = x;'
KEPT_3 = RANK_3 + '*ctx->Shape4ArgNameAndIndex("y", 0) = x;'
ROWS = RANK_2 + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(0)});'
COLUMNS = RANK_2 + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(1)});'
ONE = RANK_2 + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({1});'
MATMUL = RANK_2 + """const Shape& w = *ctx->Shape4ArgNameAndIndex("w", 0);
      CHECK_EQ_OR_RETURN(w.NumAxes(), 2);
      CHECK_EQ_OR_RETURN(w.At(0), x.At(1));
      *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(0), w.At(1)});"""
BIAS = RANK_2 + """const Shape& w = *ctx->Shape4ArgNameAndIndex("w", 0);
      CHECK_EQ_OR_RETURN(w.NumAxes(), 1);
      CHECK_EQ_OR_RETURN(w.At(0), x.At(1));
      *ctx->Shape4ArgNameAndIndex("y", 0) = x;"""
INDEX = """const Shape& w = *ctx->Shape4ArgNameAndIndex("w", 0);
      const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      CHECK_EQ_OR_RETURN(x.NumAxes(), 2);
      CHECK_EQ_OR_RETURN(w.NumAxes(), 1);
      *ctx->Shape4ArgNameAndIndex("y", 0) = Shape({w.At(0), x.At(1)});"""
INDEX_DTYPES = FLOATS + SAME_DTYPE + 'CHECK_EQ_OR_RETURN(*ctx->Dtype4ArgNameAndIndex("w", 0), DataType::kInt64);'
ANY = SAME_DTYPE

LINEAR = "each: Si -> Si\nP -> P"
EACH = "each: Si -> Si"
TWO_EACH = "each: Si Si -> Si"

RIGHT = (
    # --- elementwise, not linear
    Op("tanh", "return np.tanh(x)", EACH, backward="return dy * (1 - y * y)",
       backward_claims="each: Si Si Si -> Si\nB B P -> P"),
    Op("square", "return x * x", EACH),
    Op("softplus", "return np.logaddexp(x, 0)", EACH),
    Op("absolute", "return np.abs(x)", EACH),
    Op("rounded", "return np.rint(x)", EACH),
    Op("clip", "return np.clip(x, -attrs['most'], attrs['most'])", EACH, attrs=('double "most", 1.5',)),
    Op("leaky", "return np.where(x > 0, x, attrs['slope'] * x)", EACH, attrs=('float "slope", 0.1',)),
    Op("affine", "return 2 * x + 1", EACH),
    Op("root", "return np.sqrt(np.abs(x) + 1e-3)", EACH),
    Op("hardtanh", "return np.minimum(np.maximum(x, -1), 1)", EACH, dtype=ANY),
    Op("int_half", "return x // 2", EACH, dtype=ANY),
    # --- elementwise and linear
    Op("twice", "return 2 * x", LINEAR, backward="return 2 * dy",
       backward_claims="each: Si Si Si -> Si\nB B P -> P"),
    Op("negated", "return -x", LINEAR, dtype=ANY),
    Op("scaled", "return x * attrs['factor']", LINEAR, attrs=('double "factor", -0.5',)),
    # --- two inputs
    Op("plus", "return x + w", TWO_EACH + "\nP P -> P", ("x", "w"), shape=TWO, dtype=TWO_DTYPES),
    Op("times", "return x * w", TWO_EACH + "\nP B -> P\nB P -> P", ("x", "w"), shape=TWO, dtype=TWO_DTYPES),
    Op("ratio", "return x / (w * w + 1)", TWO_EACH + "\nP B -> P", ("x", "w"), shape=TWO, dtype=TWO_DTYPES),
    Op("larger", "return np.maximum(x, w)", TWO_EACH, ("x", "w"), shape=TWO, dtype=TWO_DTYPES),
    Op("hypot", "return np.sqrt(x * x + w * w)", TWO_EACH, ("x", "w"), shape=TWO, dtype=TWO_DTYPES),
    Op("mix", "return 0.3 * x - 0.7 * w", TWO_EACH + "\nP P -> P", ("x", "w"), shape=TWO, dtype=TWO_DTYPES),
    Op("where", "return np.where(x > 0, w, 0 * w)", TWO_EACH + "\nB P -> P", ("x", "w"), shape=TWO, dtype=TWO_DTYPES),
    # --- reductions
    Op("row_sum", "return x.sum(axis=1)", "S0 -> S0\nS1 -> P\nP -> P", shape=ROWS),
    Op("column_sum", "return x.sum(axis=0)", "S1 -> S0\nS0 -> P\nP -> P", shape=COLUMNS),
    Op("row_mean", "return x.mean(axis=1)", "S0 -> S0\nP -> P", shape=ROWS),
    Op("row_max", "return x.max(axis=1)", "S0 -> S0", shape=ROWS),
    Op("row_std", "return np.sqrt(x.var(axis=1) + 1e-5)", "S0 -> S0", shape=ROWS),
    Op("sum_squares", "return (x * x).sum(axis=1)", "S0 -> S0\nS1 -> P", shape=ROWS),
    Op("total", "return x.sum().reshape(1)", "S0 -> P\nS1 -> P\nP -> P", shape=ONE),
    Op("energy", "return (x ** 2).sum().reshape(1)", "S0 -> P\nS1 -> P", shape=ONE),
    Op("norm", "return np.sqrt((x ** 2).sum(axis=0) + 1)", "S1 -> S0", shape=COLUMNS),
    Op("logsumexp", "m = x.max(axis=1, keepdims=True)\nreturn (m + np.log(np.exp(x - m).sum(axis=1, keepdims=True)))[:, 0]",
       "S0 -> S0", shape=ROWS),
    Op("mean_square", "return (x * x).mean(axis=0)", "S1 -> S0", shape=COLUMNS),
    # --- along an axis
    Op("softmax", "e = np.exp(x - x.max(axis=1, keepdims=True))\nreturn e / e.sum(axis=1, keepdims=True)", "S0 -> S0",
       shape=KEPT_2, backward="return y * (dy - (dy * y).sum(axis=1, keepdims=True))",
       backward_claims="S0 S0 S0 -> S0\nB B P -> P"),
    Op("cumsum", "return np.cumsum(x, axis=1)", "S0 -> S0\nP -> P", shape=KEPT_2),
    Op("flip_columns", "return x[:, ::-1].copy()", "S0 -> S0\nP -> P", shape=KEPT_2),
    Op("sorted_rows", "return np.sort(x, axis=1)", "S0 -> S0", shape=KEPT_2),
    Op("centred", "return x - x.mean(axis=0)", "S1 -> S1\nP -> P", shape=KEPT_2),
    Op("layer_norm", "return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)",
       "S0 -> S0", shape=KEPT_2),
    Op("positions", "return x + np.arange(x.shape[1])", "S0 -> S0", shape=KEPT_2),
    Op("argmax", "return x.argmax(axis=1)", "S0 -> S0", shape=ROWS,
       dtype=FLOATS + '*ctx->Dtype4ArgNameAndIndex("y", 0) = DataType::kInt64;'),
    Op("diff_rows", "return x[:, 1:] - x[:, :-1]", "S0 -> S0\nP -> P", shape=RANK_2
       + 'CHECK_GT_OR_RETURN(x.At(1), 1);\n*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(0), x.At(1) - 1});'),
    # --- shapes that change
    Op("transposed", "return x.T.copy()", "S0 -> S1\nS1 -> S0\nP -> P", shape=RANK_2
       + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(1), x.At(0)});'),
    Op("last_first", "return np.ascontiguousarray(np.moveaxis(x, 2, 0))", "S0 -> S1\nS1 -> S2\nS2 -> S0\nP -> P",
       shape=RANK_3 + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(2), x.At(0), x.At(1)});'),
    Op("unsqueezed", "return x[:, None, :]", "S0 -> S0\nS1 -> S2\nP -> P", shape=RANK_2
       + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(0), 1, x.At(1)});'),
    Op("pair_columns", "return x.reshape(x.shape[0], x.shape[1] // 2, 2).sum(axis=2)", "S0 -> S0\nP -> P",
       shape=RANK_2 + 'CHECK_EQ_OR_RETURN(x.At(1) % 2, 0);\n'
       '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(0), x.At(1) / 2});'),
    # --- matrices, rows of a table
    Op("matmul", "return x @ w", "S0 B -> S0\nB S1 -> S1\nS1 S0 -> P\nP B -> P\nB P -> P", ("x", "w"),
       shape=MATMUL, dtype=TWO_DTYPES),
    Op("biased", "return x + w", "S0 B -> S0\nS1 S0 -> S1\nP P -> P", ("x", "w"), shape=BIAS, dtype=TWO_DTYPES),
    Op("channel_scale", "return x * w", "S0 B -> S0\nS1 S0 -> S1\nP B -> P\nB P -> P", ("x", "w"),
       shape=BIAS, dtype=TWO_DTYPES),
    Op("gather", "return x[w]", "S1 B -> S1\nB S0 -> S0\nP B -> P", ("x", "w"), shape=INDEX, dtype=INDEX_DTYPES,
       cases="for n, m, k in ((7, 5, 9), (4, 3, 5)):\n        yield {'x': rng.standard_normal((n, m)), 'w': rng.integers(0, n, k)}"),
    Op("bilinear", "return np.einsum('bi,bi->b', x, w)", "S0 S0 -> S0\nS1 S1 -> P\nP B -> P\nB P -> P", ("x", "w"),
       shape=TWO.replace('*ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);', "") + ROWS,
       dtype=TWO_DTYPES),
    Op("batched", "return np.matmul(x, np.swapaxes(x, 1, 2))", "S0 -> S0\nS2 -> P", shape=RANK_3
       + '*ctx->Shape4ArgNameAndIndex("y", 0) = Shape({x.At(0), x.At(1), x.At(1)});'),
    Op("optional_bias", "return x * 2 if w is None else x * 2 + w", """
      if (ctx->user_op_conf().has_input("w", 0)) {
        ctx->NewBuilder().Split(user_op::OpArg("x", 0), 0).Broadcast(user_op::OpArg("w", 0)).Split(user_op::OpArg("y", 0), 0).Build();
        ctx->NewBuilder().Split(user_op::OpArg("x", 0), 1).Split(user_op::OpArg("w", 0), 0).Split(user_op::OpArg("y", 0), 1).Build();
        ctx->NewBuilder().PartialSum(user_op::OpArg("x", 0)).PartialSum(user_op::OpArg("w", 0)).PartialSum(user_op::OpArg("y", 0)).Build();
      } else {
        FOR_RANGE(int64_t, i, 0, n) { ctx->NewBuilder().Split(user_op::OpArg("x", 0), i).Split(user_op::OpArg("y", 0), i).Build(); }
        ctx->NewBuilder().PartialSum(ctx->inputs()).PartialSum(ctx->outputs()).Build();
      }""", ("x", "w?"), shape=RANK_2 + """if (ctx->has_input("w", 0)) {
        const Shape& w = *ctx->Shape4ArgNameAndIndex("w", 0);
        CHECK_EQ_OR_RETURN(w.NumAxes(), 1);
        CHECK_EQ_OR_RETURN(w.At(0), x.At(1));
      }
      *ctx->Shape4ArgNameAndIndex("y", 0) = x;"""),
    Op("by_axis", "return x.sum(axis=attrs['axis'], keepdims=True)", """
      const int32_t axis = ctx->Attr<int32_t>("axis");
      FOR_RANGE(int64_t, i, 0, n) {
        if (i == axis) {
          ctx->NewBuilder().Split(user_op::OpArg("x", 0), i).PartialSum(user_op::OpArg("y", 0)).Build();
        } else {
          ctx->NewBuilder().Split(user_op::OpArg("x", 0), i).Split(user_op::OpArg("y", 0), i).Build();
        }
      }
      ctx->NewBuilder().PartialSum(user_op::OpArg("x", 0)).PartialSum(user_op::OpArg("y", 0)).Build();""",
       attrs=('int32_t "axis", 0',), shape="""const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      const int32_t axis = ctx->Attr<int32_t>("axis");
      CHECK_GE_OR_RETURN(axis, 0);
      CHECK_LT_OR_RETURN(axis, x.NumAxes());
      DimVector sizes = x.dim_vec();
      sizes.at(axis) = 1;
      *ctx->Shape4ArgNameAndIndex("y", 0) = Shape(sizes);"""),
)
