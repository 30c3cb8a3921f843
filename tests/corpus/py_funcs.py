"""The corpus of py_funcs: right pairs, and single faults planted in them."""

from __future__ import annotations

from tests.corpus.func_model import FuncFault, Pair, planted_pair

__all__ = ["FAULTY_PAIRS", "PAIRS"]

_ROW3 = (((3,), "float64"),)
_SCALAR = (((1,), "float64"),)
_LABELS = "[rng.normal(size=(4, 3)), np.array([0, 2, 1, 2])]"

RIGHT = (
    Pair("f_tanh", "x", "return np.tanh(np.array(x))", "x, y, dy", "return np.array(dy) * (1 - np.array(y) ** 2)"),
    Pair("f_relu", "x", "return np.maximum(np.array(x), 0)", "y, dy", "return np.array(dy) * (np.array(y) > 0)", skipped=(0,)),
    Pair("f_matmul", "a, b", "return np.array(a) @ np.array(b)", "a, b, y, dy",
         "g = np.array(dy)\nreturn g @ np.array(b).T, np.array(a).T @ g",
         arrays="[rng.normal(size=(3, 2)), rng.normal(size=(2, 4))]"),
    Pair("f_sincos", "x", "return np.sin(np.array(x)), np.cos(np.array(x))", "x, s, c, ds, dc",
         "return np.array(ds) * np.array(c) - np.array(dc) * np.array(s)", results=(((3, 4), "float64"),) * 2),
    Pair("f_softmax", "x", """
         z = np.array(x)
         e = np.exp(z - z.max(axis=-1, keepdims=True))
         return e / e.sum(axis=-1, keepdims=True)
         """, "y, dy", "p, g = np.array(y), np.array(dy)\nreturn p * (g - (g * p).sum(axis=-1, keepdims=True))", skipped=(0,)),
    Pair("f_entropy", "x, label", """
         z = np.array(x)
         z = z - z.max(axis=1, keepdims=True)
         logp = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
         return np.array([-logp[np.arange(len(z)), np.array(label)].mean()])
         """, "x, label, y, dy", """
         z = np.array(x)
         e = np.exp(z - z.max(axis=1, keepdims=True))
         p = e / e.sum(axis=1, keepdims=True)
         p[np.arange(len(p)), np.array(label)] -= 1
         return p / len(p) * np.array(dy), None
         """, arrays=_LABELS, results=_SCALAR),
    Pair("f_logsum", "x", """
         z = np.array(x)
         top = z.max(axis=1)
         return top + np.log(np.exp(z - top[:, None]).sum(axis=1))
         """, "x, y, dy", "return np.exp(np.array(x) - np.array(y)[:, None]) * np.array(dy)[:, None]", results=_ROW3),
    Pair("f_gather", "x, index", "return np.array(x)[np.array(index)]", "x, index, y, dy", """
         dx = np.zeros_like(np.array(x))
         np.add.at(dx, np.array(index), np.array(dy))
         return dx, None
         """, arrays="[rng.normal(size=(4, 2)), np.array([1, 3, 1])]", results=(((3, 2), "float64"),)),
    Pair("f_weighted", "x, w", "return np.array(x) * np.array(w)", "x, w, y, dy", "return np.array(dy) * np.array(w), None",
         arrays="[rng.normal(size=(3, 4)), rng.normal(size=(3, 4))]", constants=(1,)),
    Pair("f_scaled", "x", "return np.array(x) * NAME_K", "x, y, dy", "return np.array(dy) * NAME_K", prelude="NAME_K = 2.5"),
    Pair("f_sumrow", "x", "return np.array(x).sum(axis=1)", "x, y, dy",
         "return np.repeat(np.array(dy)[:, None], np.array(x).shape[1], axis=1)", results=_ROW3),
    Pair("f_bias", "x, b", "return np.array(x) + np.array(b)", "x, b, y, dy", "g = np.array(dy)\nreturn g, g.sum(axis=0)",
         arrays="[rng.normal(size=(3, 4)), rng.normal(size=4)]"),
    Pair("f_single", "x", "return np.sin(np.array(x).astype('float64')).astype('float32')", "x, y, dy",
         "return (np.cos(np.array(x).astype('float64')) * np.array(dy)).astype('float32')",
         arrays="[rng.normal(size=(3, 4)).astype('float32')]", results=(((3, 4), "float32"),)),
    Pair("f_cumsum", "x", "return np.cumsum(np.array(x), axis=1)", "x, y, dy",
         "return np.ascontiguousarray(np.cumsum(np.array(dy)[:, ::-1], axis=1)[:, ::-1])"),
    Pair("f_sort", "x", "return np.sort(np.array(x), axis=1)", "x, y, dy", """
         order = np.argsort(np.array(x), axis=1, kind="stable")
         dx = np.empty_like(np.array(dy))
         np.put_along_axis(dx, order, np.array(dy), axis=1)
         return dx
         """),
    Pair("f_huber", "x", "z = np.array(x)\nreturn np.where(np.abs(z) > 1, np.abs(z) - 0.5, 0.5 * z * z)", "x, y, dy",
         "return np.clip(np.array(x), -1, 1) * np.array(dy)"),
    Pair("f_softplus", "x", "return np.logaddexp(0, np.array(x))", "x, y, dy", """
         z = np.array(x)
         e = np.exp(-np.abs(z))
         return np.where(z >= 0, 1 / (1 + e), e / (1 + e)) * np.array(dy)
         """),
    Pair("f_magnitude", "x", "return np.abs(np.array(x))", "x, y, dy", "return np.sign(np.array(x)) * np.array(dy)"),
)

#: By name.
PAIRS: dict[str, Pair] = {pair.name: pair for pair in RIGHT}

F = FuncFault
FAULTS = (
    F("f_tanh", "g_tanh_sign", "gross", "a sign", "1 - np.array(y) ** 2", "1 + np.array(y) ** 2"),
    F("f_relu", "g_relu_open", "gross", "the mask is forgotten", "np.array(dy) * (np.array(y) > 0)", "np.array(dy) * 1"),
    F("f_matmul", "g_matmul_turned", "wiring", "a transpose is forgotten", "g @ np.array(b).T", "g @ np.array(b)",
      {"arrays": "[rng.normal(size=(3, 3)), rng.normal(size=(3, 3))]", "results": (((3, 3), "float64"),)}),
    F("f_matmul", "g_matmul_swapped", "wiring", "gradients in the wrong order", "return g @ np.array(b).T, np.array(a).T @ g", "return np.array(a).T @ g, g @ np.array(b).T"),
    F("f_sincos", "g_sine_only", "wiring", "an output's gradient is not read", " - np.array(dc) * np.array(s)", ""),
    F("f_softmax", "g_softmax_diagonal", "gross", "the rows' coupling is left out", "p * (g - (g * p).sum(axis=-1, keepdims=True))", "p * (1 - p) * g"),
    F("f_entropy", "g_entropy_alone", "dy", "the incoming gradient is ignored", "p / len(p) * np.array(dy)", "p / len(p)"),
    F("f_entropy", "g_entropy_sum", "subtle", "the mean is forgotten", "p / len(p) * np.array(dy)", "p * np.array(dy)"),
    F("f_logsum", "g_logsum_max", "subtle", "only the largest", "np.exp(np.array(x) - np.array(y)[:, None])", "(np.array(x) == np.array(x).max(axis=1, keepdims=True))"),
    F("f_gather", "g_gather_set", "accumulation", "repeated rows", "np.add.at(dx, np.array(index), np.array(dy))", "dx[np.array(index)] = np.array(dy)"),
    F("f_gather", "g_gather_unseen", "accumulation", "repeated rows", "np.add.at(dx, np.array(index), np.array(dy))", "dx[np.array(index)] += np.array(dy)",
      {"arrays": "[rng.normal(size=(4, 2)), np.array([1, 3, 0])]", "witness": "[rng.normal(size=(4, 2)), np.array([1, 3, 1])]", "beyond": True}),
    F("f_weighted", "g_weight_none", "contract", "None for an input that needs a gradient", "np.array(dy) * np.array(w), None", "np.array(dy) * np.array(w) * 1, None", {"constants": ()}),
    F("f_tanh", "g_tanh_none", "contract", "None for the only input", "return np.array(dy) * (1 - np.array(y) ** 2)", "return None"),
    F("f_cumsum", "g_cumsum_no_return", "contract", "no return", "return np.ascontiguousarray(", "np.ascontiguousarray("),
    F("f_scaled", "g_scaled_constant", "gross", "the factor is forgotten", "return np.array(dy) * NAME_K", "return np.array(dy) * 1"),
    F("f_sumrow", "g_sumrow_flat", "contract", "the gradient has the output's shape", "np.repeat(np.array(dy)[:, None], np.array(x).shape[1], axis=1)", "np.array(dy)"),
    F("f_bias", "g_bias_wide", "accumulation", "no sum over the rows", "return g, g.sum(axis=0)", "return g, g"),
    F("f_bias", "g_bias_short", "contract", "one gradient for two inputs", "return g, g.sum(axis=0)", "return (g,)"),
    F("f_single", "g_single_wide", "contract", "float64 for a float32 input", "* np.array(dy)).astype('float32')", "* np.array(dy)).astype('float64')"),
    F("f_single", "g_single_result", "contract", "forward is float64 though float32 was declared", "np.array(x).astype('float64')).astype('float32')", "np.array(x).astype('float64'))"),
    F("f_cumsum", "g_cumsum_same", "gross", "the sum runs the wrong way", "np.cumsum(np.array(dy)[:, ::-1], axis=1)[:, ::-1]", "np.cumsum(np.array(dy), axis=1)"),
    F("f_sort", "g_sort_taken", "gross", "the permutation instead of its inverse", "np.put_along_axis(dx, order, np.array(dy), axis=1)", "dx[...] = np.take_along_axis(np.array(dy), order, axis=1)"),
    F("f_huber", "g_huber_open", "region", "the linear part is forgotten", "np.clip(np.array(x), -1, 1)", "np.array(x)",
      {"arrays": "[rng.uniform(-0.9, 0.9, size=(3, 4))]", "witness": "[rng.normal(size=(3, 4)) * 3]", "beyond": True}),
    F("f_softplus", "g_softplus_overflow", "precision", "overflows for large x", "np.where(z >= 0, 1 / (1 + e), e / (1 + e))", "np.exp(z) / (1 + np.exp(z))",
      {"witness": "[np.array([[800.0, 1.0]])]", "beyond": True}),
    F("f_magnitude", "g_magnitude_zero", "edge", "NaN at zero", "np.sign(np.array(x))", "np.array(x) / np.abs(np.array(x))",
      {"witness": "[np.array([[0.0, 1.0]])]", "beyond": True}),
    F("f_tanh", "g_tanh_noise", "impurity", "noise", "np.array(dy) * (1 - np.array(y) ** 2)", "np.array(dy) * (1 - np.array(y) ** 2) * (1 + 1e-6 * np.random.standard_normal())"),
    F("f_relu", "g_relu_kept", "impurity", "the first call's mask is kept", "np.array(dy) * (np.array(y) > 0)", "np.array(dy) * NAME_MASKS.setdefault(np.array(y).shape, np.array(y) > 0)", {"prelude": "NAME_MASKS = {}"}),
    F("f_scaled", "g_scaled_counts", "impurity", "each call differs a little", "return np.array(x) * NAME_K", "NAME_CALLS.append(1)\nreturn np.array(x) * (NAME_K + 1e-6 * len(NAME_CALLS))", {"prelude": "NAME_K = 2.5\nNAME_CALLS = []"}),
    F("f_matmul", "g_matmul_clipped", "dy", "the incoming gradient is clipped", "g = np.array(dy)", "g = np.clip(np.array(dy), -0.1, 0.1)"),
)

#: By name.
FAULTY_PAIRS: dict[str, Pair] = {fault.name: planted_pair(fault, PAIRS[fault.of]) for fault in FAULTS}
