"""What formulas become: kernels with the formula's values and its derivative, of the input's dtype."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

import numpy as np
import pytest

from opkit.errors import UsageError
from opkit.formula import Design, design
from opkit.formula.exact import exact_values
from opkit.formula.reading import read
from tests.formula.formulas import FORMULAS

NAMES = sorted(FORMULAS)


class Op:
    """A design's kernels as functions, made from the same lines as the kernel file."""

    def __init__(self, made: Design, attrs: dict[str, float]) -> None:
        self.made, self.attrs = made, attrs

    def _run(self, lines: Any, names: Any, args: Any) -> tuple[Any, ...]:
        body = [f"{', '.join(names)}, = args", *(f"{name} = {value!r}" for name, value in self.attrs.items()), *lines]
        text = "\n".join(self.made.helpers) + "\ndef kernel(args):\n" + "\n".join(f"    {line}" for line in body)
        scope: dict[str, Any] = {"np": np, "math": __import__("math")}
        exec(text, scope)
        result = scope["kernel"](args)
        return result if isinstance(result, tuple) else (result,)

    def forward(self, values: dict[str, Any]) -> tuple[Any, ...]:
        """Run the forward kernel."""
        return self._run(self.made.forward, list(self.made.inputs), [values[name] for name in self.made.inputs])

    def backward(self, values: dict[str, Any]) -> dict[str, Any]:
        """Run the backward kernel."""
        results = self._run(self.made.backward, self.made.reads, [values[name] for name in self.made.reads])
        return dict(zip(self.made.gradients, results, strict=True))


@cache
def designed(text: str, attrs: tuple[tuple[str, float], ...] = ()) -> Design:
    """Return the design of a formula, made once: deriving takes longer than any test of it."""
    return design(text, dict(attrs))


def given(name: str) -> tuple[Op, dict[str, Any]]:
    """Return the op of a formula and inputs of its domain."""
    text, attrs = FORMULAS[name]
    made = designed(text, tuple(attrs.items()))
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    return Op(made, attrs), {item: made.regions[item].plain(rng, shape) for item, shape in made.shapes[0].items()}


@pytest.mark.parametrize("name", NAMES)
def test_forward_has_the_values_of_the_text(name: str) -> None:
    """The rewritten kernel agrees to 12 digits with the text computed in 40."""
    op, values = given(name)
    text, attrs = FORMULAS[name]
    expected = exact_values(read(text, attrs), {**values, **attrs})
    for result, wanted in zip(op.forward(values), expected.values(), strict=True):
        np.testing.assert_allclose(result, wanted.reshape(np.shape(result)), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", NAMES)
def test_backward_is_the_derivative_of_the_text(name: str) -> None:
    """Along a direction, the gradient agrees with a difference of the text's own values."""
    op, values = given(name)
    text, attrs = FORMULAS[name]
    formula = read(text, attrs)
    rng = np.random.default_rng(1)
    direction = {item: rng.uniform(0.5, 1, value.shape) for item, value in values.items()}
    results = op.forward(values)
    weights = [rng.standard_normal(np.shape(result)) for result in results]
    incoming = {f"d{output}": weight for output, weight in zip(op.made.outputs, weights, strict=True)}
    gradients = op.backward({**values, **incoming})
    slope = sum(float(np.sum(gradients[f"d{item}"] * direction[item])) for item in values)
    step = 1e-5

    def moved(sign: int) -> float:
        shifted = {item: value + sign * step * direction[item] for item, value in values.items()}
        exact = exact_values(formula, {**shifted, **attrs}).values()
        return sum(
            float(np.sum(weight * value.reshape(weight.shape))) for weight, value in zip(weights, exact, strict=True)
        )

    assert slope == pytest.approx((moved(1) - moved(-1)) / (2 * step), rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("name", NAMES[::2])
def test_float32_stays_float32(name: str) -> None:
    """No attribute, constant or comparison widens a float32 array."""
    op, values = given(name)
    values = {item: value.astype(np.float32) for item, value in values.items()}
    results = op.forward(values)
    incoming = {f"d{output}": np.ones_like(result) for output, result in zip(op.made.outputs, results, strict=True)}
    for result in (*results, *op.backward({**values, **incoming}).values()):
        assert result.dtype == np.float32


def kernels(text: str, **attrs: float) -> str:
    """Return both kernels' lines."""
    made = design(text, attrs)
    return "\n".join([*made.forward, "--", *made.backward])


def test_softmax_is_recognised() -> None:
    """Exp over its sum is shifted, and its gradient is the known one."""
    text = kernels("exp(x) / sum(exp(x), axis=-1, keepdims=True)")
    assert "return softmax(x, axis=-1)" in text
    assert "return p * (dy - np.sum(dy * p, axis=-1, keepdims=True))" in text


def test_logarithms_near_one_use_log1p() -> None:
    """log(1 - p) becomes log1p."""
    assert "np.log1p(-p)" in kernels("t * log(1 - p)")


def test_an_erf_that_would_cancel_becomes_erfc() -> None:
    """1 + erf(u) cancels for negative u."""
    assert "erfc(" in design("1 + erf(x)", {}).forward[-1]


def test_kinks_that_cancel_cancel_in_the_gradient() -> None:
    """max(x, 0) + min(x, 0) is x, also where x is 0."""
    op = Op(design("maximum(x, 0) + minimum(x, 0)", {}), {})
    np.testing.assert_array_equal(op.backward({"x": np.zeros(3), "dy": np.ones(3)})["dx"], np.ones(3))


def test_the_other_branch_does_not_overflow() -> None:
    """np.where computes both branches: the exp of an ELU is held back where x is large."""
    made = design("where(x > 0, x, exp(x) - 1)", {})
    with np.errstate(over="raise"):
        Op(made, {}).forward({"x": np.array([1e5, -1.0])})


@pytest.mark.parametrize("text", ["std(x, axis=-1)", "sqrt(sum((x - 1)**2, axis=-1))", "sqrt(mean((x - 1)**2, axis=-1))"])
def test_a_constant_row_has_a_finite_gradient_of_its_root(text: str) -> None:
    """The slope at 0 is taken as 0: of a deviation, a distance, and what it is on average."""
    op = Op(design(text, {}), {})
    np.testing.assert_array_equal(op.backward({"x": np.ones((2, 3)), "dy": np.ones(2)})["dx"], np.zeros((2, 3)))


def test_a_sum_reads_its_input_for_the_shape() -> None:
    """The gradient of a sum has no other array with the input's shape."""
    assert list(design("sum(x, axis=-1)", {}).reads) == ["x", "dy"]


def test_a_product_with_a_constant_reads_only_the_incoming_gradient() -> None:
    """What backward does not need is not kept."""
    assert list(design("2 * x", {}).reads) == ["dy"]


def test_an_axis_can_be_an_attribute() -> None:
    """The kernel takes the axis at run time."""
    made = design("logsumexp(x, axis=axis)", {"axis": -1})
    x = np.array([[0.0, 0.0], [1.0, 1.0]])
    (y,) = Op(made, {"axis": 0}).forward({"x": x})
    np.testing.assert_allclose(y, np.log(1 + np.e))


def test_the_domain_is_found() -> None:
    """A logarithm takes positive numbers, a logit numbers between 0 and 1."""
    assert design("log(x)", {}).regions["x"].name == "positive"
    assert design("log(x / (1 - x))", {}).regions["x"].name == "between 0 and 1"
    assert design("x * x", {}).regions["x"].name == "any number"


def test_a_sum_that_is_positive_by_chance_is_no_domain() -> None:
    """The root of a dot product of any numbers is real for some draws."""
    found = design("sqrt(sum(p * t, axis=-1))", {}).regions
    assert {name: region.name for name, region in found.items()} == {"p": "positive", "t": "positive"}


def test_the_result_has_a_name_that_no_input_has() -> None:
    """An expression of x and y gives z, one that reads z too gives w; ``--output`` names it otherwise."""
    distance = design("sqrt(sum((x - y)**2, axis=-1))", {})
    assert (list(distance.inputs), list(distance.outputs)) == (["x", "y"], ["z"])
    assert list(design("x * y + z", {}).outputs) == ["w"]
    assert list(design("x * x", {}).outputs) == ["y"]
    assert list(read("x * y", outputs=["product"]).outputs) == ["product"]


def test_a_gradient_that_overflows_alone_bounds_the_domain() -> None:
    """Where forward is finite far out and backward is not, the domain ends before; where both overflow it does not."""
    assert design("x * tanh(exp(x))", {}).regions["x"].name == "between -4 and 4"
    assert design("exp(x)", {}).regions["x"].name == "any number"


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("where(abs(x) > 3, x - 3 * sign(x), 0 * x)", -3, 3),
        ("where(x > 20, x, log1p(exp(x)))", 20, 20),
        ("where(x > y + 9, x, y)", None, 9),
        ("relu6(x + 3)", -3, 3),
        ("tanh(x)", None, None),
        ("where(x > 1000000, x, 2 * x)", None, None),
    ],
)
def test_values_reach_each_branch(text: str, low: float | None, high: float | None) -> None:
    """The numbers of a scaffold's cases lie on both sides of every condition, as widely as these ask for."""
    made = design(text, {})
    rng = np.random.default_rng(5)
    values = [made.regions[name].plain(rng, (18,)) for name in made.inputs]
    values = values[0] - values[1] if len(values) > 1 else values[0]
    assert low is None or (values < low).any()
    assert high is None or (values > high).any()
    assert low is not None or high is not None or {region.reach for region in made.regions.values()} == {1}


def test_a_domain_has_no_pole_within() -> None:
    """A formula with poles at whole numbers gets a region between them, or beside them."""
    assert design("exp(-1 / (1 - x**2))", {}).regions["x"].name == "between -1 and 1"
    assert design("1 / (1 + x)", {}).regions["x"].name == "positive"
    assert design("1 / (2 - x)", {}).regions["x"].name == "between -1 and 1"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x +", "is not an expression"),
        ("", "is empty"),
        ("sofmax(x)", "softmax"),
        ("x[0]", "numbers, names"),
        ("x > 0", "where(x > 0, a, b)"),
        ("1 + 2", "reads no array"),
        ("sum(x, axis=0.5)", "axis is a whole number"),
        ("sum(x, keepdims=1)", "keepdims is True or False"),
        ("x + sum(x, axis=-1)", "keepdims=True"),
        ("sum(x, axis=0) + sum(x, axis=1)", "in 'sum(x, axis=0) + sum(x, axis=1)' arrays meet"),
        ("norm(x, axis=0) + x @ w", "in 'norm(x, axis=0) + x @ w' arrays meet"),
        ("exp(x, y)", "takes 1 argument"),
        ("x / 0", "division by zero"),
        ("y = x; y = x", "assigned twice"),
        ("sqrt(-1 - x * x)", "no kernel can compute"),
        ("log(-exp(x))", "not finite in any region"),
        ("args * 2", "use for something else"),
        ("x * dx", "the gradient of 'x'"),
        ("digamma(x)", "derivative of digamma"),
        ("arccosh(1+2*sum((u-v)**2,axis=-1)/((1-sum(u*u,axis=-1))*(1-sum(v*v,axis=-1))))", "not a real number"),
    ],
)
def test_refusals_say_why(text: str, words: str) -> None:
    """What cannot become an op is refused with the reason or the next step."""
    with pytest.raises(UsageError) as caught:
        design(text, {})
    assert words in str(caught.value)


def test_the_functions_are_listed_where_none_is_near() -> None:
    """A near one is offered alone: eighty names would hide it."""
    said = {}
    for text in ("sofmax(x)", "xyzzy(x)"):
        with pytest.raises(UsageError) as caught:
            design(text, {})
        said[text] = str(caught.value)
    assert ["they have abs, absolute" in one for one in said.values()] == [False, True]


@pytest.mark.parametrize(
    ("text", "default", "varied"),
    [
        ("x * sigmoid(beta * x)", 1.0, ["beta"]),
        ("log(x - beta)", 1.0, []),
        ("sum(x, axis=beta)", -1, ["beta"]),
        ("sum(x, axis=beta)", 1, []),
    ],
)
def test_attributes_vary_where_inputs_may_be_the_same(text: str, default: float, varied: list[str]) -> None:
    """A factor that a backward lost is seen at another value than the default."""
    assert design(text, {"beta": default}).varied == varied
