"""What labels without a definition may be meant to hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit.checker import Case
from opkit.verify.subjects.foreign.suppositions import elementwise_labels

CASE = Case({"x": np.ones((3, 4)), "labels": np.ones((3, 4))})


def squared(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> Sequence[np.ndarray]:
    return [np.asarray(((arrays["x"] - arrays["labels"]) ** 2).sum())]


def overlapping(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> Sequence[np.ndarray]:
    x, labels = arrays["x"], arrays["labels"]
    sides = np.maximum(0, np.minimum(x[:, 2:], labels[:, 2:]) - np.maximum(x[:, :2], labels[:, :2]))
    return [sides.prod(axis=1)]


def test_labels_of_single_elements_may_be_0_and_1() -> None:
    """Each label counts for the element at its place alone: it may be a class."""
    (found,) = elementwise_labels(squared, ["x", "labels"], frozenset({"labels"}))
    assert found.is_fair(CASE)
    changed = found.change({"x": CASE.inputs["x"], "labels": np.array([0.25, 0.75])})
    assert changed is not None
    assert changed["labels"].tolist() == [0, 1]


def test_labels_that_belong_together_are_no_classes() -> None:
    """The corners of boxes count together: with 0 and 1 alone hardly any two boxes meet."""
    (found,) = elementwise_labels(overlapping, ["x", "labels"], frozenset({"labels"}))
    assert not found.is_fair(CASE)


def test_labels_with_a_gradient_and_other_names_are_left_alone() -> None:
    """Only constants that are labels by their names, and not the first input, are supposed to be anything."""
    assert not list(elementwise_labels(squared, ["x", "labels"], frozenset()))
    assert not list(elementwise_labels(squared, ["x", "scale"], frozenset({"scale"})))
    assert not list(elementwise_labels(squared, ["labels", "x"], frozenset({"labels"})))
