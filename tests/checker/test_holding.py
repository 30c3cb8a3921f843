"""Which relations of shapes an op without definition and cases holds for, as its search finds them by trial."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opkit.checker import Case, Options
from opkit.checker.model.trial import Trial
from opkit.checker.search.extents import shapes_of
from opkit.checker.search.holding import Holding
from opkit.checker.search.kinds import kind_of, unstretched
from opkit.checker.search.pipeline import SearchResult, search
from opkit.checker.search.scope import SearchScope
from tests.checker.table import op

Function = Callable[..., Any]


def found(names: str, forward: Function, backward: Function, effort: float = 0.2) -> SearchResult:
    """Return the search for its cases."""
    made = op(names, forward, backward)
    return search(made, Options(effort=effort), Trial(made))


def shapes(result: SearchResult) -> list[Any]:
    """Return the shapes of the cases with elements."""
    return [shapes_of(case) for case in result.cases if all(np.size(item) for item in case.inputs.values())]


def test_axes_of_size_1_that_forward_stretches_are_not_meant() -> None:
    """A square mask stretches a single row of scores, which backward does not undo: that is a note."""

    def masked(x: np.ndarray) -> np.ndarray:
        return np.asarray(x * np.tril(np.ones((x.shape[-1],) * 2)))

    result = found("scores", masked, lambda x, dy: dy * np.tril(np.ones((x.shape[-1],) * 2)))
    assert all(one[-1] == one[-2] for (one,) in shapes(result))
    assert result.doubts
    assert all(doubt.is_aside for doubt in result.doubts)


def test_equal_shapes_are_meant_where_nothing_wider_holds() -> None:
    """The rows of two views belong together, though forward takes more of the second ones."""

    def paired(a: np.ndarray, b: np.ndarray) -> Any:
        return (a @ b.T)[np.arange(len(a)), np.arange(len(a))]

    def back(a: np.ndarray, b: np.ndarray, dy: np.ndarray) -> Any:
        d = dy[:, None] * np.ones((1, a.shape[1]))
        return d * b, d * a

    result = found("z1 z2", paired, back)
    assert shapes(result)
    assert all(one == other for one, other in shapes(result))


def test_a_stack_of_squares_at_which_alone_a_gradient_is_wrong_is_set_aside() -> None:
    """``x.T`` reverses all axes: right for matrices, and silently wrong for a stack of squares."""
    made = op("x w", lambda x, w: x @ w, lambda x, w, dy: (dy @ w.T, x.T @ dy))
    holding = Holding(SearchScope(made, Options(), Trial(made)))
    rng = np.random.default_rng(0)
    pairs = [((3, 4), (4, 2)), ((2, 2, 2), (2, 2, 2))]
    cases = [Case({"x": rng.normal(size=one), "w": rng.normal(size=other)}) for one, other in pairs]
    holding.judge(cases)
    assert holding.held() == {kind_of(cases[0])}
    assert kind_of(cases[1]) in holding.silent


def test_a_wrong_gradient_of_equal_shapes_is_not_taken_for_a_domain() -> None:
    """Where no relation is right, all cases are kept, and fail."""
    result = found("z1 z2", lambda a, b: a @ b.T, lambda a, b, dy: (dy @ b, dy @ a))
    assert any(one != other for one, other in shapes(result))


def test_orders_hold_each_place_once() -> None:
    """By its name an input that chooses rows is a permutation of them."""

    def back(x: np.ndarray, perm: np.ndarray, dy: np.ndarray) -> Any:
        made = np.zeros_like(dy)
        made[perm] = dy
        return made

    result = found("x perm", lambda x, perm: x[perm], back)
    orders = [case.inputs["perm"] for case in result.cases if case.inputs["perm"].size]
    assert orders
    assert all(sorted(order.ravel().tolist()) == list(range(order.size)) for order in orders)


def test_sizes_of_1_become_others_alone_or_together() -> None:
    """What forward takes of these tells a size of 1 that is stretched from one that is a size like others."""
    assert list(unstretched(((5,), (1,)), 7, is_tied=False)) == [((5,), (7,))]
    assert list(unstretched(((3, 1), (1, 2)), 7, is_tied=True)) == [((3, 7), (7, 2))]
    assert not list(unstretched(((3, 1), (3, 2)), 7, is_tied=False))


def test_a_size_of_1_that_alone_makes_shapes_fit_is_not_meant() -> None:
    """Where the gradient is wrong at these shapes alone, they are set aside and told of, and not checked."""

    def forward(x: np.ndarray, u: np.ndarray) -> np.ndarray:
        if u.shape != x.shape[1:] and not (u.shape == x.shape and x.shape[-1] == 1):
            raise ValueError("one factor for each column")
        return np.asarray(x * u)

    def backward(x: np.ndarray, u: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return dy * u, 2 * dy * x if u.shape == x.shape else (dy * x).sum(axis=0)

    result = found("x u", forward, backward)
    assert shapes(result)
    assert all(u == x[1:] for x, u in shapes(result))
    assert any("no size need be 1" in doubt.message for doubt in result.doubts)


def times(x: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Return a product, of arrays or with a number."""
    return np.asarray(x * k)


def of_number(x: np.ndarray, k: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradients of a product with a number, as a number."""
    return dy * k, np.asarray((dy * x).sum())


def test_a_factor_that_is_one_number_is_that() -> None:
    """Where backward keeps up with one number alone and the name allows it, arrays in its place are a note."""
    result = found("x alpha", times, of_number)
    assert {(3, 4), (5,)} <= {x for x, _ in shapes(result)}
    assert all(np.size(case.inputs["alpha"]) < 2 for case in result.cases)
    assert result.doubts
    assert all(doubt.is_aside for doubt in result.doubts)


def test_a_bias_is_not_one_number() -> None:
    """By its name it has one for each column, so that shapes which backward does not fit are checked."""
    result = found("x bias", lambda x, b: x + b, lambda x, b, dy: (dy, np.asarray(dy.sum())), 1.0)
    assert ((3, 4), (4,)) in shapes(result)


def test_wrong_values_at_arrays_are_a_note_where_the_name_says_number() -> None:
    """A temperature is one; a scale may be an array, of which the gradient is silently wrong."""

    def backward(x: np.ndarray, k: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return dy * k, np.asarray((dy * x).sum() + 0 * k)

    doubts = found("x temperature", times, backward).doubts
    assert doubts
    assert all(doubt.is_aside for doubt in doubts)
    assert not all(doubt.is_aside for doubt in found("x scale", times, backward).doubts)


def test_a_pair_that_forward_compares_has_one_shape() -> None:
    """A distance treats both alike; where names are not those of a pair, one of them may be for all rows."""

    def distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(((a - b) ** 2).sum(axis=-1))

    def backward(a: np.ndarray, b: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 2 * dy[..., None] * (a - b), -2 * dy[..., None] * (a - b)

    doubts = found("a b", distance, backward, 1.0).doubts
    assert doubts
    assert all(doubt.is_aside for doubt in doubts)
    assert not all(doubt.is_aside for doubt in found("a q", distance, backward, 1.0).doubts)


def test_a_mean_and_its_log_variance_have_one_shape() -> None:
    """By their names they are parts of one estimate; a scale may be shared."""

    def total(mu: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray((mu * mu + np.exp(s)).sum())

    def backward(mu: np.ndarray, s: np.ndarray, dy: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return 2 * dy * mu, dy * np.exp(s)

    doubts = found("mu logvar", total, backward, 1.0).doubts
    assert doubts
    assert all(doubt.is_aside for doubt in doubts)
    assert not all(doubt.is_aside for doubt in found("mu logstd", total, backward, 1.0).doubts)
