"""What source says about shapes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from opkit.checker.search.speech import Speech, speech_of


def sum_over(d: Any, shape: Any) -> Any:
    return d.sum(axis=tuple(range(len(d.shape) - len(shape))))


def plain(ctx: Any, x: Any, y: Any) -> Any:
    return x * y


def gradient(ctx: Any, dy: Any) -> Any:
    return dy.sum(axis=0), dy


def by_helper(ctx: Any, dy: Any) -> Any:
    return sum_over(dy, ctx.shape), dy


def by_axes(ctx: Any, dy: Any) -> Any:
    return dy.sum(axis=tuple(axis for axis, size in enumerate(ctx.shape) if size == 1)), dy


def worded(ctx: Any, x: Any, y: Any) -> Any:
    """Multiply arrays that broadcast."""
    return x * y


def counted(ctx: Any, x: Any, y: Any) -> Any:
    if y.ndim != 1:
        raise ValueError("y is a vector")
    return x * y


def asserted(ctx: Any, x: Any, y: Any) -> Any:
    assert len(x.shape) == 2
    return x * y


def branched(ctx: Any, x: Any, y: Any) -> Any:
    return x * y if x.ndim == y.ndim else x


def halved(ctx: Any, x: Any) -> Any:
    return x[..., : x.shape[-1] // 2]


def split(ctx: Any, x: Any) -> Any:
    return np.split(x, 3, axis=-1)[0]


def blocked(ctx: Any, x: Any) -> Any:
    return x[: len(x) // 128]


class Documented:
    """Takes arrays of any shape."""


SAID = [
    ((plain, gradient), Speech()),
    ((plain, by_helper), Speech(broadcasts=True)),
    ((halved, gradient), Speech(divisors=frozenset((2,)))),
    ((split, gradient), Speech(divisors=frozenset((3,)))),
    ((blocked, gradient), Speech()),
    ((plain, by_axes), Speech(broadcasts=True)),
    ((worded, gradient), Speech(broadcasts=True)),
    ((counted, gradient), Speech(ranks=True)),
    ((asserted, gradient), Speech(ranks=True)),
    ((branched, gradient), Speech()),
    ((plain, gradient, Documented), Speech(broadcasts=True)),
    ((plain, gradient, Documented, sum_over), Speech(broadcasts=True)),
    ((), Speech()),
    ((len, len), Speech()),
]


@pytest.mark.parametrize(("sources", "said"), SAID)
def test_source_says_which_shapes_are_meant(sources: tuple[Any, ...], said: Speech) -> None:
    """Words, functions that sum by shape, and errors by the number of axes; nothing else."""
    assert speech_of(sources) == said
