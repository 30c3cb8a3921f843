"""Shapes of inputs that docstrings and comments name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Checkable, Options
from opkit.checker.model.trial import Trial
from opkit.checker.search.described import Described, described_in, said_constant
from opkit.checker.search.extents import shapes_of
from opkit.checker.search.pipeline import search


def told(text: str, *names: str) -> dict[str, tuple[str, ...]]:
    """Return what a docstring names for some inputs."""

    def forward(ctx: Any, *args: Any) -> None: ...

    forward.__doc__ = text
    return dict(described_in([forward, forward], names).shapes)


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("x: [batch, seq, dim]", ("batch", "seq", "dim")),
        ("Rotate points x [N, 3] about an axis.", ("N", "3")),
        ("x (Tensor): features of shape (N, C).", None),
        ("x (Tensor): shape (N, C).", ("N", "C")),
        ("x[N, C] and more", ("N", "C")),
        ("w and x are [T, 2 H]", ("T", "2 * H")),
        ("w, x: [seq len, dim / 2]", ("seq_len", "dim / 2")),
        ("x lies in [lo, hi]", None),
        ("the sum over x[i, j]", None),
        ("x (see below, and there)", None),
        ("x [..., 2]", None),
        ("x: (int, optional)", None),
        ("x: Tensor[float]", None),
        ("x is [0, 1]", None),
        ("index [N, 3]", None),
    ],
)
def test_a_shape_stands_after_the_name_in_brackets(text: str, shape: tuple[str, ...] | None) -> None:
    """Brackets hold a symbol for each axis; intervals, elements and remarks are no shapes."""
    assert told(text, "x").get("x") == shape


def test_comments_in_forward_count_too() -> None:
    """A comment at the head of forward's body names shapes like a docstring."""

    def forward(ctx: Any, x: Any) -> Any:
        # x: [B, C]
        return x

    assert described_in([forward, forward], ["x"]).shapes == {"x": ("B", "C")}


def test_sizes_of_symbols_differ_and_expressions_have_their_values() -> None:
    """Each symbol takes several sizes, 1 among them; 3 * H is three times H."""
    made = list(Described({"x": ("B", "3 * H"), "h": ("B", "H")}).assignments(["x", "h"]))
    assert len(made) > 4
    for x, h in made:
        assert isinstance(x, tuple)
        assert isinstance(h, tuple)
        assert (x[0], x[1]) == (h[0], 3 * h[1])  # type: ignore[operator]
    assert all(len({*x, *h}) > 2 for x, h in made[:1])  # type: ignore[misc, arg-type]


def test_a_keyword_may_name_a_size() -> None:
    """The sizes of a weight are often called out and in."""
    assert next(iter(Described({"w": ("out", "in")}).assignments(["w"]))) == ((3, 2),)


def test_other_ranks_fixed_sizes_and_unequal_symbols_are_not_allowed() -> None:
    """Shapes fit a description where each number and each symbol has one value."""
    made = Described({"x": ("N", "3"), "i": ("N",)})
    allowed = [((4, 3), (4,)), ((1, 3), (1,)), ((4, 3), None)]
    refused = [((4, 2), (4,)), ((4, 3), (5,)), ((2, 4, 3), (2,)), ((4, 3), (4, 1))]
    assert all(made.allows(["x", "i"], one) for one in allowed)
    assert not any(made.allows(["x", "i"], one) for one in refused)


def quadratic(text: str) -> Checkable:
    """Return x_i M x_i, right for matrices alone, with a docstring."""

    def forward(arrays: Any, attrs: Any) -> Any:
        x, m = arrays["x"], arrays["m"]
        return [((x @ m) * x).sum(axis=1)]

    def backward(arrays: Any, results: Any, douts: Any, attrs: Any, needs: Any) -> Any:
        x, m, g = arrays["x"], arrays["m"], np.expand_dims(douts[0], 1)
        return {"x": g * (x @ m + x @ np.swapaxes(m, -1, -2)), "m": np.swapaxes(x, -1, -2) @ (g * x)}

    def source(ctx: Any, x: Any, m: Any) -> None: ...

    source.__doc__ = text
    args = (Arg("x"), Arg("m"))
    return Checkable("op", args, (Arg("y"),), forward, backward, sources=(source, source))


def test_the_search_stays_with_the_shapes_named() -> None:
    """Where forward takes them and backward keeps up there, no other ranks are tried, and a note says so."""
    made = quadratic("x: [batch, d]; m: [d, d]")
    found = search(made, Options(effort=0.2), Trial(made))
    assert found.cases
    assert {tuple(map(len, shapes_of(case))) for case in found.cases} == {(2, 2)}  # type: ignore[arg-type]
    assert any("x [batch, d], m [d, d]" in note for note in found.notes)
    free = quadratic("Quadratic forms.")
    assert {len(shapes_of(case)[0] or ()) for case in search(free, Options(effort=0.2), Trial(free)).cases} > {2}


def test_shapes_that_forward_refuses_are_a_mistake_of_the_text() -> None:
    """A description that does not fit is disregarded."""
    made = quadratic("x: [batch, d]; m: [batch, d, k, n]")
    found = search(made, Options(effort=0.2), Trial(made))
    assert found.cases
    assert not any("named" in note or "names" in note for note in found.notes)


def test_a_run_on_other_shapes_outweighs_the_text() -> None:
    """What a recorded run has seen is meant, whatever a docstring says."""
    made = quadratic("x: [batch, d, k]; m: [d, d]")
    case = search(quadratic(""), Options(effort=0.2), Trial(made)).cases[0]
    near = replace(made, seen=(case,))
    assert search(near, Options(effort=0.2), Trial(near)).cases


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        ("W / sigma: u and v come from power iteration and are constants.", True),
        ("Scales by u. The exponent is a constant.", False),
        ("The mask u is detached", True),
        ("w is learned, but u takes no gradient", True),
        ("u is scaled", False),
        ("The result u is multiplied by a constant", False),
        ("u has a constant offset", False),
        ("No gradient for u", True),
        ("u: a constant", True),
        ("w and a constant times u", False),
    ],
)
def test_a_sentence_may_say_that_an_input_takes_no_gradient(text: str, is_said: bool) -> None:
    """The sentence, or the part of it after a but, that names the input says so."""

    def forward(ctx: Any, u: Any) -> None: ...

    forward.__doc__ = text
    assert said_constant([forward, forward], "u") is is_said


def test_an_article_is_not_an_input() -> None:
    """The result is multiplied by a constant: this says nothing of an input a; nor does a comment in backward."""

    class Layer:
        """The result is multiplied by a constant."""

        @staticmethod
        def forward(ctx: Any, x: Any, a: Any) -> Any:
            return 2 * x * a

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            # x is a constant of the derivative by a
            return dy, None

    sources = [Layer.forward, Layer.backward, Layer]
    assert not said_constant(sources, "a")
    assert not said_constant(sources, "x")
