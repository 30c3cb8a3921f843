"""Calls in graphs of sizes that are known only when they run: the values and gradients of dynamic mode, or an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.errors import ShapeError, UsageError
from opkit.ops.core.value import UnknownSizeError
from opkit.paddle import static
from opkit.paddle.nn import functional as F

X = np.random.default_rng(3).uniform(0.2, 0.9, size=(3, 4)).astype("float32")
IMAGES = np.random.default_rng(4).normal(size=(2, 3, 4, 5)).astype("float32")


def in_a_graph(function: Callable[..., Any], array: np.ndarray, unknown: set[int]) -> tuple[list[int], list[np.ndarray]]:
    """Return the inferred shape, and the value and the gradient of its square that a run gives."""
    paddle.enable_static()
    try:
        main = static.Program()
        with static.program_guard(main, static.Program()):
            x = static.data("x", [None if k in unknown else size for k, size in enumerate(array.shape)], "float32")
            x.stop_gradient = False
            y = function(x)
            floats = y._data.dtype.kind == "f"
            fetches = [y, *(static.gradients(paddle.sum(y * y), [x]) if floats else [])]
            return list(y.shape), static.Executor().run(main, feed={"x": array}, fetch_list=fetches)
    finally:
        paddle.disable_static()


ROWS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {
    "numel": (paddle.numel, X),
    "meshgrid": (lambda x: paddle.meshgrid(x[:, 0], x[0])[0] * paddle.meshgrid(x[:, 0], x[0])[1], X),
    "take wrap": (lambda x: paddle.take(x, paddle.to_tensor([0, 50, -3]), mode="wrap"), X),
    "take clip": (lambda x: paddle.take(x, paddle.to_tensor([0, 50, -3]), mode="clip"), X),
    "diff": (lambda x: paddle.diff(x, axis=0), X),
    "diff twice": (lambda x: paddle.diff(x, n=2, axis=1), X),
    "trapezoid": (lambda x: paddle.trapezoid(x, axis=0), X),
    "cumulative_trapezoid": (lambda x: paddle.cumulative_trapezoid(x, axis=0), X),
    "crop": (lambda x: paddle.crop(x, [-1, 2], [1, 1]), X),
    "kl_div": (lambda x: F.kl_div(F.log_softmax(x), F.softmax(x * 2), "batchmean"), X),
    "label_smooth": (F.label_smooth, X),
    "slice": (lambda x: x[:5] * 2.0, X),
    "slice from the end": (lambda x: x[-2:100] * 2.0, X),
    "mean of a slice": (lambda x: paddle.mean(x[:5], 0), X),
    "pool of one": (lambda x: F.adaptive_avg_pool2d(x, 1), IMAGES),
    "pool of one by maximum": (lambda x: F.adaptive_max_pool2d(x, 1), IMAGES),
    "pool that keeps": (lambda x: F.adaptive_avg_pool2d(x, [None, 1]), IMAGES),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_run_gives_the_values_of_dynamic_mode(name: str) -> None:
    """With no size known; an inferred size is never another than that of the run."""
    function, array = ROWS[name]
    x = paddle.to_tensor(array, stop_gradient=False)
    y = function(x)
    shape, got = in_a_graph(function, array, set(range(array.ndim)) - ({1} if array.ndim == 4 else set()))
    expected = [y.numpy()]
    if len(got) > 1:
        (y * y).sum().backward()
        expected.append(x.grad.numpy())
    assert len(shape) == y.ndim
    assert all(size in (-1, real) for size, real in zip(shape, y.shape))
    for one, other in zip(got, expected, strict=True):
        assert np.shape(one) == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("function", "array"),
    [
        (lambda x: F.adaptive_avg_pool2d(x, 3), IMAGES),
        (lambda x: F.interpolate(x, size=[2, 2], mode="area"), IMAGES),
        (lambda x: F.interpolate(x, scale_factor=2), IMAGES),
        (lambda x: x.unfold(0, 2, 1), X),
        (lambda x: paddle.nn.LSTM(5, 2)(x)[0], IMAGES[:, 0]),
    ],
)
def test_what_needs_a_size_says_so(function: Callable[..., Any], array: np.ndarray) -> None:
    """Nothing is computed with -1 in the place of a size."""
    with pytest.raises(UnknownSizeError, match="is unknown until the program runs"):
        in_a_graph(function, array, set(range(array.ndim)))


@pytest.mark.parametrize(
    ("layer", "array", "message"),
    [
        (lambda x: paddle.nn.Conv2D(3, 2, 3)(x), X, r"conv2d takes tensors of 4 axes, got \[-1, 4\]"),
        (lambda x: paddle.nn.Conv2DTranspose(3, 2, 2)(x), X, r"takes tensors of 4 axes, got \[-1, 4\]"),
        (lambda x: paddle.nn.MaxPool2D(2)(x), X, r"max_pool2d takes tensors of 4 axes, got \[-1, 4\]"),
        (lambda x: paddle.nn.AdaptiveAvgPool2D(2)(x), X, r"adaptive_avg_pool2d takes tensors of 4 axes, got \[-1, 4\]"),
        (lambda x: paddle.nn.AvgPool1D(2)(x), X, r"avg_pool1d takes tensors of 3 axes, got \[-1, 4\]"),
        (lambda x: paddle.nn.AdaptiveMaxPool2D(2)(x), X, r"adaptive_max_pool2d takes tensors of 4 axes, got \[-1, 4\]"),
        (lambda x: paddle.nn.Conv1D(3, 2, 3)(x), X, r"conv1d takes tensors of 3 axes, got \[-1, 4\]"),
        (lambda x: paddle.nn.Conv3D(3, 2, 3)(x), IMAGES, r"conv3d takes tensors of 5 axes, got \[-1, 3, 4, 5\]"),
        (lambda x: paddle.nn.Unfold(2)(x), X, r"unfold takes a tensor of 4 axes, got \[-1, 4\]"),
        (lambda x: paddle.nn.Upsample(scale_factor=2)(x), X, r"mode 'nearest' does not fit a tensor of shape \[-1, 4\]"),
        (lambda x: paddle.nn.LayerNorm(5)(x), X, r"layer_norm: x has shape \[-1, 4\], which does not end in \[5\]"),
        (lambda x: paddle.nn.InstanceNorm1D(4)(x), IMAGES[:, :, 0], r"InstanceNorm1D is for 4 channels"),
        (lambda x: paddle.nn.GroupNorm(2, 4)(x), IMAGES, r"GroupNorm is for 4 channels, got \[-1, 3, 4, 5\]"),
        (lambda x: paddle.nn.InstanceNorm2D(4)(x), IMAGES, r"InstanceNorm2D is for 4 channels, got \[-1, 3, 4, 5\]"),
        (lambda x: paddle.nn.BatchNorm2D(4)(x), IMAGES, r"batch_norm is for 4 channels, got \[-1, 3, 4, 5\]"),
        (lambda x: paddle.nn.functional.batch_norm(x, paddle.ones([4]), paddle.ones([4])), IMAGES, r"batch_norm is for 4 channels"),
        (lambda x: paddle.nn.BatchNorm2D(5, data_format="NHWC")(x), IMAGES.swapaxes(1, 3), r"batch_norm is for 5 channels"),
        (lambda x: x[:, 4], X, r"shape \[-1, 4\]: index 4 is out of bounds for axis 1 with size 4"),
    ],
)
def test_a_misfit_is_said_in_the_words_of_the_call(layer: Callable[..., Any], array: np.ndarray, message: str) -> None:
    """With an unknown batch: neither an op that nobody called, nor a size that nobody gave."""
    with pytest.raises((ShapeError, IndexError, UsageError), match=message):
        in_a_graph(layer, array, {0})


@pytest.mark.parametrize("unknown", [{0}, {0, 1, 2, 3}])
def test_whole_channels_are_dropped_of_an_unknown_batch(unknown: set[int]) -> None:
    """The mask is drawn in the run's sizes: each channel of each image stays or goes."""
    image = np.ones((40, 3, 4, 5), "float32")
    _, (y, gradient) = in_a_graph(lambda x: paddle.nn.Dropout2D(0.5)(x), image, unknown)
    channels = y.reshape(120, 20)
    assert (channels == channels[:, :1]).all()
    assert 0.2 < (channels[:, 0] == 0).mean() < 0.8
    np.testing.assert_array_equal(gradient, 4 * y)
