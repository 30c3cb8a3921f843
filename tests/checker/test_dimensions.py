"""Shapes that annotations declare: what is read of a text, and which shapes are as declared."""

from __future__ import annotations

import numpy as np
import pytest

from opkit.checker.model.checkable import Arg
from opkit.checker.model.dimensions import Dimensions, axes_in
from opkit.checker.search.shapes import declared


def dimensions(**texts: str) -> Dimensions:
    return Dimensions({name: axes_in(text) or () for name, text in texts.items()})


@pytest.mark.parametrize(
    ("texts", "shapes", "is_meant"),
    [
        ({"x": "n d"}, {"x": (3, 4)}, True),
        ({"x": "n d"}, {"x": (3,)}, False),
        ({"x": "n d"}, {"x": (0, 4)}, False),
        ({"x": "n n"}, {"x": (3, 4)}, False),
        ({"x": "n d", "w": "d k"}, {"x": (3, 4), "w": (4, 5)}, True),
        ({"x": "n d", "w": "d k"}, {"x": (3, 4), "w": (3, 5)}, False),
        ({"x": "n 3"}, {"x": (7, 3)}, True),
        ({"x": "n 3"}, {"x": (7, 4)}, False),
        ({"x": "n _", "y": "_ n"}, {"x": (2, 9), "y": (8, 2)}, True),
        ({"x": "... n"}, {"x": (5, 6, 2)}, True),
        ({"x": "*b n", "y": "*b"}, {"x": (5, 6, 2), "y": (5, 6)}, True),
        ({"x": "*b n", "y": "*b"}, {"x": (5, 6, 2), "y": (6, 5)}, False),
        ({"x": "n *b m"}, {"x": (5,)}, False),
        ({"x": "n", "y": "#n"}, {"x": (5,), "y": (1,)}, True),
        ({"x": "n", "y": "#n"}, {"x": (5,), "y": (4,)}, False),
        ({"y": "2*n+1", "x": "n"}, {"x": (3,), "y": (7,)}, True),
        ({"y": "2*n+1", "x": "n"}, {"x": (3,), "y": (6,)}, False),
        ({"x": "batch=2 n"}, {"x": (2, 5)}, True),
        ({"x": ""}, {"x": ()}, True),
        ({"x": ""}, {"x": (1,)}, False),
    ],
)
def test_the_same_name_is_the_same_size(
    texts: dict[str, str], shapes: dict[str, tuple[int, ...]], is_meant: bool
) -> None:
    assert dimensions(**texts).fit(shapes) == is_meant


@pytest.mark.parametrize("text", ["the weights, by row", "n: rows", "x.shape", "n d[0]", "*a *b", "n 'm'", "n 1.5"])
def test_other_texts_declare_nothing(text: str) -> None:
    assert axes_in(text) is None


@pytest.mark.parametrize(
    "texts", [{"x": "b n d", "w": "d k"}, {"x": "*b n", "y": "#n"}, {"x": "n+1", "y": "n"}, {"x": "3 _"}, {"x": ""}]
)
def test_what_is_drawn_is_as_declared(texts: dict[str, str]) -> None:
    said = dimensions(**texts)
    drawn = list(declared(said, [Arg(name) for name in texts]))
    assert all(said.fit(dict(zip(texts, shapes))) for shapes in drawn)


def test_names_get_sizes_of_their_own_first() -> None:
    first = next(declared(dimensions(x="a b c d e f g h"), [Arg("x")]))
    assert len(set(first[0] or ())) == 8


def test_each_name_is_one_once() -> None:
    drawn = [shapes[0] for shapes in declared(dimensions(x="a b"), [Arg("x")])]
    assert {tuple(np.equal(shape or (), 1)) for shape in drawn} >= {(True, False), (False, True)}
