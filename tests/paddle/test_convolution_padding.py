"""Padding of convolutions, plain and transposed, in both layouts. Facts of Paddle 2.6.2."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit.paddle.nn import functional


def _counting(*shape: int) -> Any:
    return paddle.to_tensor((np.arange(np.prod(shape)).reshape(shape) % 7 - 3).astype("float32"))


#: The function, its input and filters, its options; the shape, the sum, and the sum weighted by place.
FACTS: list[tuple[Any, ...]] = [
    ("conv2d", (1, 5, 4, 3), (2, 3, 3, 2), {"padding": "SAME", "data_format": "NHWC"}, [1, 5, 4, 2], 7.0, 342.0),
    (
        "conv2d",
        (1, 5, 4, 3),
        (2, 3, 3, 2),
        {"padding": "SAME", "stride": 2, "data_format": "NHWC"},
        [1, 3, 2, 2],
        14.0,
        70.0,
    ),
    ("conv1d", (1, 5, 3), (2, 3, 4), {"padding": "SAME", "data_format": "NLC"}, [1, 5, 2], -4.0, 1.0),
    ("conv2d_transpose", (1, 3, 5, 4), (3, 2, 3, 2), {"stride": 2, "padding": "SAME"}, [1, 2, 9, 8], -38.0, -185.0),
    ("conv2d_transpose", (1, 3, 5, 4), (3, 2, 3, 2), {"stride": 2, "padding": "VALID"}, [1, 2, 11, 8], 14.0, 115.0),
    ("conv2d_transpose", (1, 3, 5, 4), (3, 2, 3, 2), {"stride": 2, "padding": [1, 0, 2, 1]}, [1, 2, 10, 5], 13.0, 61.0),
    (
        "conv2d_transpose",
        (1, 5, 4, 3),
        (3, 2, 3, 2),
        {"padding": [[0, 0], [1, 0], [2, 1], [0, 0]], "data_format": "NHWC"},
        [1, 6, 2, 2],
        25.0,
        59.0,
    ),
    (
        "conv1d_transpose",
        (1, 3, 5),
        (3, 2, 3),
        {"stride": 2, "padding": [1, 0], "output_padding": 1},
        [1, 2, 11],
        1.0,
        98.0,
    ),
    (
        "conv1d_transpose",
        (1, 3, 5),
        (3, 2, 3),
        {"stride": 2, "padding": [0, 1], "output_size": [11]},
        [1, 2, 11],
        14.0,
        -39.0,
    ),
]


@pytest.mark.parametrize(("name", "x", "filters", "options", "shape", "total", "weighted"), FACTS)
def test_padding(
    name: str, x: Any, filters: Any, options: dict[str, Any], shape: list[int], total: float, weighted: float
) -> None:
    """SAME, VALID and uneven paddings give 2.6.2's results, in either layout."""
    found = getattr(functional, name)(_counting(*x), _counting(*filters), **options)
    assert found.shape == shape
    assert float(found.sum()) == total
    assert float((found * _counting(*shape)).sum()) == weighted


def test_a_size_that_is_not_known_needs_no_padding_by_it() -> None:
    """In a graph SAME with a stride needs the size; uneven padding of a transposed convolution does not."""
    paddle.enable_static()
    try:
        with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
            x = paddle.static.data("x", [1, 3, -1, 4], "float32")
            w = paddle.static.data("w", [3, 2, 3, 2], "float32")
            with pytest.raises(ValueError, match="axis 2"):
                functional.conv2d(x, paddle.static.data("v", [2, 3, 3, 2], "float32"), stride=2, padding="SAME")
            y = functional.conv2d_transpose(x, w, stride=2, padding=[1, 0, 2, 1])
            feed = {"x": _numbers(1, 3, 5, 4), "w": _numbers(3, 2, 3, 2)}
            (found,) = paddle.static.Executor().run(feed=feed, fetch_list=[y])
    finally:
        paddle.disable_static()
    assert list(found.shape) == [1, 2, 10, 5]
    assert found.sum() == 13.0


def _numbers(*shape: int) -> np.ndarray:
    return (np.arange(np.prod(shape)).reshape(shape) % 7 - 3).astype("float32")


def test_filters_without_channels_are_refused() -> None:
    """A convolution over no channels has no meaning."""
    with pytest.raises(ValueError, match="no channels"):
        functional.conv1d(paddle.zeros([1, 0, 4]), paddle.zeros([2, 0, 3]))


@pytest.mark.parametrize(
    ("shapes", "expected"), [(([-1], [3]), [3]), (([-1], [1]), [-1]), (([-1, 2], [3, 1, 2]), [3, -1, 2])]
)
def test_unknown_sizes_broadcast(shapes: Any, expected: list[int]) -> None:
    """broadcast_shape takes -1 for a size that is not known."""
    assert paddle.broadcast_shape(*shapes) == expected


def test_a_seed_is_an_int() -> None:
    """Program.random_seed refuses what is not; _manual_program_seed seeds both default programs."""
    with pytest.raises(ValueError, match="random_seed"):
        paddle.static.Program().random_seed = "seed"  # type: ignore[assignment]
    with paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        paddle.framework.random._manual_program_seed(7)
        assert paddle.static.default_main_program().random_seed == 7
        assert paddle.static.default_startup_program().random_seed == 7
