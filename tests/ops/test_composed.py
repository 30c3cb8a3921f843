"""Functions composed of ops: values beside numpy, the dialect of their operands, gradients of their ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import ops
from opkit.eager import Tensor
from opkit.errors import DtypeError, UsageError
from opkit.ir import STRICT, speaking
from opkit.ops.composed import images, layers, losses, matrices, places, pointwise, statistics, windows

RNG = np.random.default_rng(5)


def real(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


A, B, SQUARE, V = real(3, 4), real(2, 3), real(3, 3) + 3 * np.eye(3), real(5)
LABEL = np.array([[0.0, 1.0, 0.0, 1.0]] * 3)
IMAGE = real(1, 4, 4, 4)


def unfolded(x: np.ndarray) -> np.ndarray:
    columns = [x[0, :, i : i + 2, j : j + 2].reshape(-1) for i in range(3) for j in range(3)]
    return np.stack(columns, -1)[None]


ROWS: list[tuple[str, Callable[..., Any], tuple[np.ndarray, ...], Any]] = [
    ("kron", matrices.kron, (A, B), np.kron(A, B)),
    ("cross", lambda x, y: matrices.cross(x, y, 1), (real(2, 3) * 0 + B, B[::-1].copy()), np.cross(B, B[::-1])),
    ("power", lambda x: matrices.matrix_power(x, 5), (SQUARE,), np.linalg.matrix_power(SQUARE, 5)),
    ("power-", lambda x: matrices.matrix_power(x, -2), (SQUARE,), np.linalg.matrix_power(SQUARE, -2)),
    (
        "distances",
        lambda x, y: matrices.row_distances(x, y, 2.0),
        (B, SQUARE),
        np.sqrt(((B[:, None] - SQUARE[None]) ** 2).sum(-1)),
    ),
    (
        "triangle",
        lambda x, y: matrices.triangular_solve(x, y, upper=False, unit=True),
        (SQUARE, A),
        np.linalg.solve(np.tril(SQUARE, -1) + np.eye(3), A),
    ),
    ("condition", lambda x: matrices.condition_number(x, "fro"), (SQUARE,), np.linalg.cond(SQUARE, "fro")),
    ("median", lambda x: statistics.median(x, 1), (A,), np.median(A, 1)),
    ("quantile", lambda x: statistics.quantiles(x, [0.3], ignore_nan=False)[0], (A,), np.quantile(A, 0.3, -1)),
    ("kth", lambda x: statistics.kth_smallest(x, 2, 1, keepdims=False)[0], (A,), np.sort(A, 1)[:, 1]),
    ("lerp", lambda x, y: pointwise.lerp(x, y, 0.25), (A, A * 0), 0.75 * A),
    ("glu", lambda x: layers.glu(x, 1), (A,), A[:, :2] / (1 + np.exp(-A[:, 2:]))),
    (
        "logits",
        losses.binary_entropy_of_logits,
        (A, LABEL),
        np.logaddexp(0, A) - LABEL * A,
    ),
    ("huber", lambda x: losses.absolute_or_square(x, 0.5), (np.abs(A),), np.where(np.abs(A) <= 0.5, A * A / 2, (np.abs(A) - 0.25) / 2)),
    ("cosine", lambda x, y: losses.cosine(x, y, 1, 1e-8), (A, A[::-1].copy()), (A * A[::-1]).sum(1) / np.linalg.norm(A, axis=1) / np.linalg.norm(A[::-1], axis=1)),
    ("pixels", lambda x: images.pixel_unshuffle(images.pixel_shuffle(x, 2), 2), (IMAGE,), IMAGE),
    ("columns", lambda x: windows.columns_of(x, (2, 2), (1, 1), (0, 0, 0, 0), (1, 1)), (IMAGE,), unfolded(IMAGE)),
    ("grid", lambda x, g: images.grid_sample(x, g, "bilinear", "zeros", align_corners=True), (IMAGE, np.zeros((1, 1, 1, 2)) + 0.2), np.einsum("nchw,h,w->nc", IMAGE[:, :, 1:3, 1:3], [0.2, 0.8], [0.2, 0.8])[..., None, None]),
    ("diagonal", lambda x: matrices.diagonal(x, 1, 1, 0), (A,), np.diagonal(A, 1, 1, 0)),
    ("diagonal filled", lambda x: matrices.diagonal_filled(x, 2.0, 1, wraps=False), (A,), np.where(np.eye(3, 4, 1, dtype=bool), 2.0, A)),
    ("diagonal matrices", lambda x: matrices.diagonal_matrices(x, -2, 0, 1), (V,), np.diag(V, -2)),
    ("slices added", lambda x, y: places.slices_added(x, Tensor(np.array([2, 0, 2])), 0, y), (SQUARE, B[[0, 1, 0]]), SQUARE + np.stack([B[1], 0 * V[:3], 2 * B[0]])),
    ("summed at", lambda x, y: places.summed_at(x, (Tensor(np.array([1, 1])), Tensor(np.array([2, 2]))), y), (A, V[:2]), A + V[:2].sum() * (np.arange(12).reshape(3, 4) == 6)),
    ("strided", lambda x: places.strided(x, (2, 2), (3, 1), 1), (A,), A.reshape(-1)[[[1, 2], [4, 5]]]),
    ("windows along", lambda x: places.windows_along(x, 0, 2, 1), (A,), np.lib.stride_tricks.sliding_window_view(A, 2, 0)),
    ("differences", lambda x: pointwise.differences(x, 1, 2), (A,), np.diff(A, 2)),
    ("areas", lambda y, x: ops.reduce_sum(pointwise.areas(y, x, 1.0, 0), 0), (A, V[:3]), np.trapezoid(A, V[:3], axis=0)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "function", "arrays", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_values_are_numpys(name: str, function: Any, arrays: Any, expected: Any) -> None:
    """In double precision, without any framework's rules."""
    with speaking(STRICT):
        found = function(*(Tensor(array) for array in arrays))
    assert np.allclose(found._data, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("name", "function", "arrays", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_gradients_are_the_slopes(name: str, function: Any, arrays: Any, expected: Any) -> None:
    """Along one direction per input, by a central difference."""
    rng = np.random.default_rng(1)
    with speaking(STRICT):
        values = [Tensor(array.copy(), stop_gradient=False) for array in arrays]
        out = function(*values)
        factor = rng.normal(size=out._data.shape)
        ops.reduce_sum(ops.mul(out, Tensor(factor))).backward()
        for i, array in enumerate(arrays):
            step = rng.normal(size=array.shape) * 1e-6
            ends = [
                function(*(Tensor(a + sign * step if k == i else a) for k, a in enumerate(arrays)))._data
                for sign in (1, -1)
            ]
            slope = float(((ends[0] - ends[1]) * factor).sum()) / 2
            grad = values[i].grad
            got = 0.0 if grad is None else float((grad._data * step).sum())
            assert abs(got - slope) <= 1e-9 + 1e-5 * abs(slope), (i, got, slope)


def test_a_composed_function_follows_its_operands_dialect() -> None:
    """Strict values of two dtypes do not meet; Paddle's do."""
    whole, real_ = np.ones((2, 2), np.int64), np.ones((2, 2), np.float32)
    with speaking(STRICT), pytest.raises(DtypeError):
        matrices.kron(Tensor(whole), Tensor(real_))
    assert matrices.kron(paddle.to_tensor(whole), paddle.to_tensor(real_)).numpy().dtype == np.float32


def test_causal_attention_looks_back_only() -> None:
    """The weights above the diagonal are 0, each row adds up to 1."""
    weights = layers.attention_weights(Tensor(real(1, 1, 3, 2)), Tensor(real(1, 1, 3, 2)), None, is_causal=True)
    assert np.array_equal(np.triu(weights._data[0, 0], 1), np.zeros((3, 3)))
    assert np.allclose(weights._data.sum(-1), 1)


def test_a_forget_gate_that_is_shut_drops_the_cell() -> None:
    """With i, g and o open and f shut, c is tanh(g) and h is tanh(c)."""
    gates = Tensor(np.array([[50.0, -50.0, 0.5, 50.0]]))
    new, cell = layers.lstm_step(gates, Tensor(np.array([[9.0]])))
    assert np.allclose(cell._data, np.tanh(0.5))
    assert np.allclose(new._data, np.tanh(np.tanh(0.5)))


def test_an_update_gate_that_is_open_keeps_the_state() -> None:
    """H = z * h + (1 - z) * c with z = 1."""
    maps = Tensor(np.array([[0.0, 50.0, 0.3]]))
    assert np.allclose(layers.gru_step(maps, Tensor(np.zeros((1, 3))), Tensor(np.array([[0.7]])))._data, 0.7)


def test_windows_that_do_not_fit_are_refused() -> None:
    """The window and the image are named."""
    with pytest.raises(UsageError, match=r"windows of \(5, 5\) do not fit images of \[4, 4\]"):
        windows.columns_of(Tensor(IMAGE), (5, 5), (1, 1), (0, 0, 0, 0), (1, 1))


def test_an_infinite_extreme_keeps_its_segment_and_takes_no_gradient() -> None:
    """The term that carries the gradient is 0, also where the value itself is not finite."""
    rows = paddle.to_tensor(np.array([[np.inf, 1.0], [2.0, 3.0]]), stop_gradient=False)
    found = places.reduced_rows(rows, paddle.to_tensor([1, 1]), 3, "max")
    assert found.tolist() == [[0.0, 0.0], [np.inf, 3.0], [0.0, 0.0]]
    paddle.sum(found).backward()
    assert rows.grad.tolist() == [[0.0, 0.0], [0.0, 1.0]]
