"""``oneflow.python.nn.modules.utils``: settings of layers, one number or one per axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__: list[str] = []


def _of_length(count: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda given: tuple(given) if isinstance(given, Iterable) else (given,) * count


_single, _pair, _triple, _quadruple = map(_of_length, (1, 2, 3, 4))


def _reverse_repeat_tuple(t: Sequence[Any], n: int) -> tuple[Any, ...]:
    """Return the items from the last to the first, each n times."""
    return tuple(item for item in reversed(t) for _ in range(n))
