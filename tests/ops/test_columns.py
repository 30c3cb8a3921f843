"""Convolutions of many samples with short rows are those of each sample alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit import ops
from opkit.eager import Tensor, grad
from opkit.errors import ShapeError

SAMPLES = 9

#: shape of one sample, shape of the weight, what ``conv`` gets.
GEOMETRIES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "1d": ((2, 11), (3, 2, 3), {}),
    "2d": ((2, 6, 7), (4, 2, 3, 2), {"padding": (1, 0)}),
    "2d, strides": ((2, 9, 8), (3, 2, 3, 3), {"strides": 2, "padding": 1}),
    "2d, dilations": ((1, 9, 9), (2, 1, 3, 3), {"dilations": 2}),
    "2d, groups": ((4, 6, 6), (6, 2, 3, 3), {"groups": 2}),
    "2d, depthwise": ((4, 6, 6), (4, 1, 3, 3), {"groups": 4, "padding": 1}),
    "2d, pointwise": ((3, 5, 5), (4, 3, 1, 1), {}),
    "2d, channels last": ((6, 6, 3), (4, 3, 3, 3), {"data_format": "channels_last"}),
    "3d": ((2, 4, 5, 4), (3, 2, 2, 2, 2), {"padding": 1}),
}


def run(x: np.ndarray, weight: np.ndarray, dy: np.ndarray | None, options: dict[str, Any]) -> list[np.ndarray]:
    """Return the result and both gradients."""
    given = [Tensor(array, stop_gradient=False) for array in (x, weight)]
    y = ops.conv(*given, None, **options)
    seed = Tensor(np.ones(y._data.shape) if dy is None else dy)
    return [y._data, *(found._data for found in grad([y], given, [seed]))]


@pytest.mark.parametrize("name", GEOMETRIES)
def test_a_batch_is_its_samples(name: str) -> None:
    """Results and gradients by the input are those of each sample, the gradient by the weight is their sum."""
    shape, filters, options = GEOMETRIES[name]
    rng = np.random.default_rng(0)
    weight = rng.normal(size=filters)
    if "data_format" in options:
        weight = np.moveaxis(weight, 1, -1).copy()
    x = rng.normal(size=(SAMPLES, *shape))
    dy = rng.normal(size=run(x, weight, None, options)[0].shape)
    y, dx, dw = run(x, weight, dy, options)
    alone = [run(x[i : i + 1], weight, dy[i : i + 1], options) for i in range(SAMPLES)]
    np.testing.assert_allclose(y, np.concatenate([found[0] for found in alone]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dx, np.concatenate([found[1] for found in alone]), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(dw, np.sum([found[2] for found in alone], axis=0), rtol=1e-12, atol=1e-12)


def test_the_gradient_of_a_weight_errs_no_more_than_a_sum_by_samples() -> None:
    """In single precision many samples side by side are summed in short pieces: not worse than one product a sample."""
    rng = np.random.default_rng(0)
    x, weight = rng.normal(size=(16, 32, 14, 14)), rng.normal(size=(64, 32, 3, 3))
    dy = rng.normal(size=(16, 64, 14, 14))
    single = [array.astype(np.float32) for array in (x, weight, dy)]
    exact = run(*(array.astype(np.float64) for array in single), {"padding": 1})[2]
    given = single[0], single[1]
    alone = sum(run(given[0][i : i + 1], given[1], single[2][i : i + 1], {"padding": 1})[2] for i in range(len(x)))
    together = run(*given, single[2], {"padding": 1})[2]
    assert np.linalg.norm(together - exact) < 1.02 * np.linalg.norm(alone - exact)


def test_the_gradient_of_a_depthwise_input_errs_no_more_than_products_added_up() -> None:
    """It is a convolution with the flipped kernel: each number a sum of as many terms as the kernel has places."""
    rng = np.random.default_rng(0)
    x, weight, dy = (rng.normal(size=shape) for shape in ((16, 8, 14, 14), (8, 1, 3, 3), (16, 8, 14, 14)))
    single = [array.astype(np.float32) for array in (x, weight, dy)]
    options = {"groups": 8, "padding": 1}
    exact = run(*(array.astype(np.float64) for array in single), options)[1]
    wide = np.zeros((16, 8, 16, 16), np.float32)
    for row, column in np.ndindex(3, 3):
        wide[:, :, row : row + 14, column : column + 14] += single[2] * single[1][:, :, row, column][:, 0, None, None]
    found = run(*single, options)[1]
    assert np.linalg.norm(found - exact) < 1.02 * np.linalg.norm(wide[:, :, 1:-1, 1:-1] - exact)


def test_what_is_kept_for_the_next_call_does_not_show() -> None:
    """Other sizes and dtypes in between, and a call whose products fail, change no result."""
    rng = np.random.default_rng(0)
    given = [rng.normal(size=shape).astype(np.float32) for shape in ((9, 4, 6, 6), (4, 1, 3, 3), (9, 4, 6, 6))]
    options = {"groups": 4, "padding": 1}
    before = run(*given, options)
    kept = [array.copy() for array in before]
    run(rng.normal(size=(3, 2, 20, 20)), rng.normal(size=(5, 2, 3, 3)), None, {"strides": 2})
    with pytest.raises(ShapeError):
        run(given[0], given[1][:, :, :, :2].repeat(2, axis=1), None, options)
    for found, alone, again in zip(before, kept, run(*given, options)):
        assert found.tobytes() == alone.tobytes() == again.tobytes()
