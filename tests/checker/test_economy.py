"""Economy: what a check need not run, it does not run."""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.checker import Options, check
from tests.checker.functions import checkable_of


def strides_seen(select: frozenset[str], x: np.ndarray) -> list[tuple[int, ...]]:
    """Return how the arguments of forward lay in memory, call by call."""
    seen: list[tuple[int, ...]] = []

    def forward(x: Any) -> Any:
        seen.append(x.strides)
        return x * x

    report = check(checkable_of(forward, lambda x, y, dy: 2 * x * dy, [x]), Options(select=select))
    assert report.status.value == "pass"
    return seen


def test_a_check_whose_reports_are_unwanted_is_not_run() -> None:
    """Memory layouts are tried where GC130 or GC131 is wanted, and not for the sake of others."""
    plain = {(8,)}
    assert set(strides_seen(frozenset({"GC101"}), np.ones(4))) == plain
    assert set(strides_seen(frozenset({"GC101", "GC131"}), np.ones(4))) > plain


def test_a_layout_is_tried_once() -> None:
    """Reversed and permuted are one layout of an array with one axis: as often tried as either."""
    codes = frozenset({"GC101", "GC130"})
    row, matrix = np.linspace(1.0, 2.0, 6), np.linspace(1.0, 2.0, 6).reshape(2, 3)
    reversed_row = strides_seen(codes, row).count((-8,))
    assert reversed_row == strides_seen(codes, matrix).count((-24, -8)) > 0
