"""Kernels of formulas in C++: one loop, or passes over rows; what they do not compute is refused."""

from __future__ import annotations

import pytest

from opkit.errors import UsageError
from opkit.formula import design


def test_elements_are_one_loop() -> None:
    """Common parts have names, attributes are doubles, numbers have the type of the kernel."""
    made = design("a * sigmoid(k * b)", {"k": 2.0}).cpp()
    assert made.backward is not None
    assert (made.backward.inputs, made.backward.attrs, made.own) == (["a", "b", "dy"], ["k"], {"sigmoid"})
    assert made.backward.lines == [
        "FOR_RANGE(int64_t, i, 0, shape.elem_cnt()) {",
        "  const T a = in_a[i];",
        "  const T b = in_b[i];",
        "  const T dy = in_dy[i];",
        "  const T s = sigmoid(T(k) * b);",
        "  out_da[i] = dy * s;",
        "  out_db[i] = T(k) * dy * sigmoid(T(-k) * b) * s * a;",
        "}",
    ]


def test_a_reduction_is_a_pass_over_each_row() -> None:
    """What two passes read is kept by the first."""
    made = design("softmax(x)", {}).cpp()
    assert made.forward.lines == [
        "const int64_t along = shape.Count(shape.NumAxes() - 1), rows = shape.Count(0, shape.NumAxes() - 1);",
        "std::vector<T> kept_e(along);",
        "FOR_RANGE(int64_t, row, 0, rows) {",
        "  T largest = -std::numeric_limits<T>::infinity();",
        "  FOR_RANGE(int64_t, j, 0, along) {",
        "    const int64_t i = row * along + j;",
        "    const T x = in_x[i];",
        "    largest = maximum(largest, x);",
        "  }",
        "  double total_sum = 0;",
        "  #pragma omp simd reduction(+ : total_sum)",
        "  for (int64_t j = 0; j < along; ++j) {",
        "    const int64_t i = row * along + j;",
        "    const T x = in_x[i];",
        "    const T e = kept_e[j] = std::exp(x - largest);",
        "    total_sum += e;",
        "  }",
        "  const T total = static_cast<T>(total_sum);",
        "  FOR_RANGE(int64_t, j, 0, along) {",
        "    const int64_t i = row * along + j;",
        "    const T e = kept_e[j];",
        "    out_y[i] = e / total;",
        "  }",
        "}",
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x @ w", "multiplies matrices"),
        ("x / sum(x) + softmax(x)", "several sets of axes"),
        ("sum(sum(x, axis=-1))", "several sets of axes"),
        ("y = sum(sum(x, axis=-1), axis=0); z = x", "several steps"),
    ],
)
def test_what_is_refused(text: str, why: str) -> None:
    """Products of matrices and reductions along different axes are refused, in words."""
    made = design(text, {}, grad=False)
    with pytest.raises(UsageError, match=why):
        made.cpp()
