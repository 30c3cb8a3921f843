"""Guards of forward: bounds next to 0 and 1, what lies beyond them, and what they explain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opkit.checker import Arg, Attr, Case, Checkable, OpReport, Status, check
from opkit.checker.model.unguarded import unguarded

EPS = 1e-6


class Held:
    LEAST = 1e-6


def clipped(x: Any) -> Any:
    return np.log(np.clip(x, 1e-7, 1 - 1e-7))


def by_name(x: Any) -> Any:
    return np.log(np.clip(x, EPS, 1 - EPS))


def by_class(x: Any) -> Any:
    return np.log(np.maximum(x, Held.LEAST))


def by_default(x: Any, eps: float = 1e-8) -> Any:
    return np.log(np.maximum(eps, x))


def by_method(x: Any) -> Any:
    return np.log(x.clip(min=1e-7))


def by_local(x: Any) -> Any:
    least = 1e-9
    return np.log(np.where(x > least, x, least))


def by_mask(x: Any) -> Any:
    x = x.copy()
    x[x < 1e-9] = 1e-9
    return np.log(x)


def by_filled(x: Any) -> Any:
    return np.log(np.maximum(x, np.full_like(x, 1e-12)))


def by_condition(x: Any) -> Any:
    return np.log(np.where(x < 1e-9, np.ones_like(x), x))


def helped(x: Any) -> Any:
    return clipped(x)


def added(x: Any) -> Any:
    return np.log(np.abs(x) + 1e-7)


def relu6(x: Any) -> Any:
    return np.clip(x, 1e-6, 6.0)


def hard(x: Any) -> Any:
    return np.clip(x, -1e-4, 1e-4)


def leaky(x: Any) -> Any:
    return np.maximum(x, 1e-4 * x)


@pytest.mark.parametrize(
    "function", [clipped, by_name, by_class, by_default, by_method, by_local, by_mask, by_filled, by_condition, helped]
)
def test_a_guard_is_taken_away(function: Callable[[Any], Any]) -> None:
    """The logarithm of -1 is NaN without it, and what it was after."""
    bare = unguarded((function, Held), {})
    assert bare is not None
    with np.errstate(all="ignore"), bare.applied():
        assert np.isnan(function(np.array([-1.0]))).all()
    assert np.isfinite(function(np.array([-1.0]))).all()


@pytest.mark.parametrize("function", [added, relu6, hard, leaky, np.tanh])
def test_other_constants_are_no_guards(function: Callable[[Any], Any]) -> None:
    """A summand, a range with an end of its own, a narrow range, a slope."""
    assert unguarded((function,), {}) is None


def test_an_option_is_a_guard_by_its_value() -> None:
    """A least value of 1e-8 is one, of 0.5 is none."""
    assert unguarded((by_default,), {"eps": 1e-8}) is not None
    assert unguarded((by_default,), {"eps": 0.5}) is None


def test_a_closure_keeps_its_cells() -> None:
    """The changed code reads the same cells."""
    least, factor = 1e-7, 3.0

    def function(x: Any) -> Any:
        return factor * np.log(np.maximum(x, least))

    bare = unguarded((function,), {})
    assert bare is not None
    with bare.applied():
        assert function(np.array([np.e])) == pytest.approx(3.0)


# --- verdicts
def _log_back(x: Any, y: Any, dy: Any) -> Any:
    return dy / np.clip(x, 1e-7, 1 - 1e-7)


def _log_masked(x: Any, y: Any, dy: Any) -> Any:
    return np.where((x > 1e-7) & (x < 1 - 1e-7), dy / np.clip(x, 1e-7, 1 - 1e-7), 0.0)


def _log_wrong(x: Any, y: Any, dy: Any) -> Any:
    return 2.0 * _log_back(x, y, dy)


def _rooted(x: Any) -> Any:
    return np.sqrt(np.maximum(x, 1e-10))


def _rooted_nan(x: Any, y: Any, dy: Any) -> Any:
    with np.errstate(all="ignore"):
        return dy * 0.5 / np.sqrt(x)


def _relu6_unmasked(x: Any, y: Any, dy: Any) -> Any:
    return np.where(x > 1e-6, dy, 0.0)


def _plain(x: Any, eps: float = 1e-8) -> Any:
    return np.maximum(x, eps) * 2.0


def _plain_back(x: Any, y: Any, dy: Any) -> Any:
    return dy * 2.0


def _report(forward: Callable[..., Any], backward: Callable[..., Any], **fields: Any) -> OpReport:
    made = Checkable(
        "op",
        (Arg("x"),),
        (Arg("y"),),
        lambda arrays, attrs: [forward(arrays["x"], *attrs.values())],
        lambda arrays, results, douts, attrs, needs: {"x": backward(arrays["x"], *results, *douts)},
        gradients=frozenset({"x"}),
        sources=(forward, backward),
        **fields,
    )
    return check(made)


def test_a_derivative_that_a_guard_explains_is_undecided() -> None:
    """The report names the guard and says what decides."""
    report = _report(clipped, _log_back)
    assert report.status is Status.UNDECIDED
    (item,) = [item for item in report.checks if item.status is Status.UNDECIDED]
    assert item.beyond
    assert "guard" in item.message
    assert "cases function" in item.message


def test_what_a_guard_lets_in_is_outside_the_domain() -> None:
    """A note says so."""
    report = _report(clipped, _log_masked)
    assert report.status is Status.PASS
    assert any("a guard of forward" in note for note in report.notes)


@pytest.mark.parametrize(
    ("forward", "backward", "code"),
    [(clipped, _log_wrong, "GC101"), (_rooted, _rooted_nan, "GC105"), (relu6, _relu6_unmasked, "GC101")],
    ids=["a wrong factor", "a guard that backward forgets", "a bound that is no guard"],
)
def test_what_no_guard_explains_is_a_failure(forward: Any, backward: Any, code: str) -> None:
    """Beside a guard as well as without."""
    report = _report(forward, backward)
    assert report.status is Status.FAIL
    assert code in {item.code for item in report.findings}


@pytest.mark.parametrize(("least", "status"), [(1e-8, Status.UNDECIDED), (0.5, Status.FAIL)])
def test_a_forgotten_mask_is_a_failure_where_the_bound_is_no_guard(least: float, status: Status) -> None:
    """The same op with another default."""
    assert _report(_plain, _plain_back, attrs=(Attr("eps", "any", least),)).status is status


def test_given_inputs_are_judged_by_the_letter() -> None:
    """A run that passes 0 means it."""
    given = (Case({"x": np.array([0.0, 0.3, 2.0])}, origin="recorded"),)
    assert _report(clipped, _log_back, recorded=given).status is Status.FAIL


class _Callable:
    """Looks like a function, and is none."""

    __code__ = clipped.__code__
    __module__ = __name__

    def __call__(self, x: Any) -> Any:
        return x


LARGE = 10**400
wrapped = _Callable()


def odd(x: Any) -> Any:
    return wrapped(np.minimum(x, LARGE))


def test_what_is_not_a_function_keeps_its_guards() -> None:
    """Nor does a whole number that no float can hold end the reading."""
    assert unguarded((odd,), {}) is None
