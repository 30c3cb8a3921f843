"""Any pair of numpy functions can be checked."""

from __future__ import annotations

import os

import numpy as np
import pytest

from opkit.errors import UsageError
from opkit.testing import GradientError, assert_gradients
from opkit.verify import gradcheck

X = np.linspace(-2, 2, 7)


def test_a_right_pair_passes_and_a_wrong_one_fails() -> None:
    """Sin with cos passes; with -cos it fails."""
    assert gradcheck(forward=np.sin, backward=lambda x, dy: dy * np.cos(x), inputs=[X]).status.value == "pass"
    report = gradcheck(forward=np.sin, backward=lambda x, dy: -dy * np.cos(x), inputs=[X])
    assert report.status.value == "fail"
    assert report.ops[0].findings[0].code == "GC101"


@pytest.mark.parametrize(
    "backward",
    [
        lambda a, b, dy: (dy @ b.T, a.T @ dy),
        lambda a, b, y, dy: (dy @ b.T, a.T @ dy),
        lambda dy, a, b: [dy @ b.T, a.T @ dy],
        lambda a, b, dy, unused=None: (dy @ b.T, a.T @ dy),
    ],
)
def test_backward_may_have_any_of_the_signatures(backward) -> None:
    """Inputs then dy, with the outputs between, or dy first by its name."""
    rng = np.random.default_rng(0)
    assert_gradients(
        forward=lambda a, b: a @ b, backward=backward, inputs=[rng.normal(size=(2, 3)), rng.normal(size=(3, 4))]
    )


def test_two_outputs_get_two_gradients() -> None:
    """Each output's gradient arrives in its place."""
    assert_gradients(
        forward=lambda x: (np.sin(x), np.exp(x)),
        backward=lambda x, ds, de: ds * np.cos(x) + de * np.exp(x),
        inputs=[X],
    )


def test_inputs_by_name_and_integers_that_take_no_gradient() -> None:
    """Integer arrays are passed on and not differentiated."""
    assert_gradients(
        forward=lambda x, index: x[index],
        backward=lambda x, index, dy: (_scatter(x, index, dy), None),
        inputs={"x": X, "index": np.array([0, 3, 3, 6])},
    )


def _scatter(x: np.ndarray, index: np.ndarray, dy: np.ndarray) -> np.ndarray:
    dx = np.zeros_like(x)
    np.add.at(dx, index, dy)
    return dx


def test_missing_accumulation_is_seen() -> None:
    """Assigning instead of adding loses repeated indices."""

    def wrong(x: np.ndarray, index: np.ndarray, dy: np.ndarray):
        dx = np.zeros_like(x)
        dx[index] = dy
        return dx, None

    with pytest.raises(GradientError, match="GC10"):
        assert_gradients(
            forward=lambda x, index: x[index], backward=wrong, inputs={"x": X, "index": np.array([0, 3, 3, 6])}
        )


def test_the_error_carries_the_report_and_the_line() -> None:
    """assert_gradients raises an AssertionError whose message is the report."""

    def backward(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
        return 2 * dy

    with pytest.raises(AssertionError) as caught:
        assert_gradients(forward=np.sin, backward=backward, inputs=[X])
    assert "test_pair.py" in str(caught.value)
    assert caught.value.report.status.value == "fail"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"forward": np.sin}, "together"),
        ({"forward": np.sin, "backward": np.cos, "target": "."}, "together"),
        ({"forward": np.sin, "backward": lambda x, dy: dy}, "inputs"),
        ({"forward": np.sin, "backward": lambda: 0, "inputs": [X]}, "takes 0 arguments"),
        ({"target": ".", "inputs": [X]}, "go with"),
        ({"target": ".", "sede": 1}, "seed"),
        ({"target": int}, "not a PyLayer"),
    ],
)
def test_what_does_not_go_together_is_a_usage_error(arguments, message) -> None:
    """Misuse is refused with the reason."""
    with pytest.raises(UsageError, match=message):
        gradcheck(**arguments)


def test_a_function_can_be_isolated() -> None:
    """With isolate=True a function that leaves the process is a finding, not the end."""
    import os

    report = gradcheck(forward=np.sin, backward=lambda x, dy: os._exit(3), inputs=[X], isolate=True)
    assert report.status.value == "error"
    assert report.ops[0].findings[0].code == "GC193"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_function_that_forks_is_checked_in_one_process() -> None:
    """In this process too, the copy ends where the function is left."""
    copies: list[int] = []

    def forward(x: np.ndarray) -> np.ndarray:
        if len(copies) < 3:
            copies.append(os.fork())
        return np.asarray(x * x)

    report = gradcheck(forward=forward, backward=lambda x, dy: 2 * x * dy, inputs=[np.linspace(-1, 1, 5)], effort=0.2)
    assert [os.waitpid(copy, 0)[1] for copy in copies] == [0, 0, 0]
    assert report.status.value == "pass"
