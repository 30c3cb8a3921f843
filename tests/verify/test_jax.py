"""Functions of JAX with rules of their own as subjects: verdicts on a corpus, and the numbers that they rest on."""

from __future__ import annotations

import importlib.util
import operator
import os
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.checker import Checkable, Options, Report, Status, check
from opkit.checker.model.report import OpReport
from opkit.reporters import text_report
from opkit.testing import GradientError, assert_gradients
from opkit.verify import gradcheck
from opkit.verify.outcome import Outcome
from opkit.verify.subjects.foreign.framework import framework_of
from tests.cli.served import served
from tests.verify.golden import masked

jax = pytest.importorskip("jax", reason="JAX is not installed: its custom functions cannot be checked")
pytestmark = pytest.mark.peer
jnp = pytest.importorskip("jax.numpy")

DATA = Path(__file__).resolve().parents[1] / "campaigns" / "data" / "jax_files"
#: The faults that a code of JAX's own must find.
OWN = {
    "stateful": "GC213",
    "differs_in_jit": "GC211",
    "differs_in_vmap": "GC212",
    "jvp_value": "GC214",
    "wrong_in_bfloat16": "GC207",
}


@cache
def loaded(name: str) -> Any:
    """Return a file of the corpus as a module."""
    spec = importlib.util.spec_from_file_location(f"jax_corpus_{name}", DATA / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names_in(file: str) -> list[str]:
    """Return the custom functions of a file."""
    from opkit.verify.subjects.jax.function import is_custom

    return [name for name, value in vars(loaded(file)).items() if is_custom(value) and not name.startswith("_")]


@jax.custom_vjp
def pooled(scores: Any, values: Any, mask: Any) -> Any:
    return _pooled(scores, values, mask)[0]


def _pooled(scores: Any, values: Any, mask: Any) -> Any:
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9))
    return weights @ values, (weights, values)


def _pooled_back(kept: Any, g: Any) -> Any:
    weights, values = kept
    slope = values @ g
    return weights * (slope - weights @ slope), jnp.outer(weights, g), None


pooled.defvjp(_pooled, _pooled_back)


@pytest.mark.parametrize(("factor", "status"), [(1.0, "pass"), (0.5, "fail")])
def test_a_number_with_a_default_is_differentiated(factor: float, status: str) -> None:
    """JAX gives it a tangent, whatever its default; a rule of JAX's that leaves it out says that it is a constant."""

    @jax.custom_jvp
    def softplus(x: Any, beta: Any = 1.0) -> Any:
        return jnp.logaddexp(beta * x, 0.0) / beta

    @softplus.defjvp
    def _(primals: Any, tangents: Any) -> Any:
        x, beta = primals
        y, slope = softplus(x, beta), jax.nn.sigmoid(beta * x)
        return y, slope * tangents[0] + factor * (slope * x - y) / beta * tangents[1]

    assert gradcheck(softplus, replay=False).ops[0].status.value == status


@pytest.mark.parametrize("call", [pooled, jax.jit(pooled)])
def test_a_gradient_that_is_0_by_chance_is_no_missing_one(call: Any) -> None:
    """Of one score the softmax is 1: a gradient that is computed is one, None for the mask is none."""
    from opkit.verify.subjects.jax.runner import Runner
    from opkit.verify.subjects.subject import Parameters, Signature

    arrays = {"scores": np.ones(1), "values": np.ones((1, 2)), "mask": np.ones(1)}
    runner = Runner(call, Signature(Parameters(tuple(arrays)), frozenset(arrays)))
    assert runner.silent_inputs(arrays, {}) == {"mask"}


@cache
def report_of(file: str, name: str, effort: float = 1.0) -> OpReport:
    """Check a function in this process."""
    options = Options(effort=effort)
    from opkit.verify.subjects.jax.framework import framework

    names = vars(loaded(file))
    served = framework.named(names[name], {**names, "__file__": str(DATA / f"{file}.py")}, name, options)
    assert isinstance(served, Checkable)
    return check(served, options)


@pytest.mark.parametrize("name", names_in("right")[::6])
def test_a_right_function_passes(name: str) -> None:
    """No right function of the sample is accused; ``python -m tests.campaigns.jax_functions`` checks all."""
    assert report_of("right", name).status is Status.PASS


@pytest.mark.parametrize("name", names_in("faults")[::12])
def test_a_fault_is_found(name: str) -> None:
    """A wrong rule fails."""
    assert report_of("faults", name).status in (Status.FAIL, Status.ERROR)


#: Tests on one report of each fault of JAX's own.
ON_OWN = pytest.mark.xdist_group("faults of JAX's own")


@ON_OWN
@pytest.mark.parametrize("name", OWN)
def test_a_fault_of_jaxs_own_has_its_code(name: str) -> None:
    """With little effort."""
    report = report_of("faults", name, 0.05)
    assert report.status is Status.FAIL
    assert OWN[name] in {result.code for result in report.checks if result.status is Status.FAIL}


#: Programs whose evaluation in numpy is compared with JAX's own.
PROGRAMS: dict[str, Any] = {
    "elements": lambda x: jnp.sin(x) * jnp.exp(-x * x) + jnp.tanh(x) / (1 + x**2) - jnp.log1p(x * x) ** 3,
    "logistic": lambda x: jax.nn.sigmoid(x) * jax.nn.softplus(x) + jax.nn.gelu(x) + jax.nn.log_softmax(x, -1),
    "reductions": lambda x: (x.sum(0) + x.max(1).sum() - x.min() * x.prod(0), x.mean(), x.var(1), jnp.argmax(x, 1)),
    "products": lambda x: (x @ x.T, jnp.einsum("ij,kj->ik", x, x), jnp.tensordot(x, x, 2), jnp.outer(x[0], x[1])),
    "shapes": lambda x: (x.reshape(-1)[None, ::2], jnp.pad(x, ((1, 2), (0, 1))), jnp.flip(x, 1), jnp.roll(x, 1, 0)),
    "joins": lambda x: (jnp.concatenate([x, x * 2], 1), jnp.stack([x, -x]), jnp.split(x, 2, 1), jnp.tile(x, (2, 1))),
    "choices": lambda x: (jnp.where(x > 0, x, 2 * x), jnp.clip(x, -0.5, 0.5), jnp.sign(x), jnp.abs(x), x.astype(int)),
    "order": lambda x: (jnp.sort(x, 1), jnp.argsort(x, 1), jnp.cumsum(x, 1), jnp.cumprod(x, 0), jax.lax.cummax(x, 0)),
    "indices": lambda x: (x[1], x[:, jnp.array([0, 2, 2])], x.at[0].add(1.0), jnp.take_along_axis(x, x.argsort(1), 1)),
    "loops": lambda x: (
        jax.lax.scan(lambda c, r: (c * 0.5 + r, c), jnp.zeros(x.shape[1], x.dtype), x, reverse=True),
        jax.lax.fori_loop(0, 4, lambda i, c: c * 1.5 + i, x),
        jax.lax.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, x),
        jax.lax.while_loop(lambda c: jnp.abs(c).max() > 0.1, lambda c: c / 2, x),
    ),
    "places": lambda x: (
        x[:, jnp.array([[0, 3], [1, 1]])],
        jnp.take_along_axis(x, jnp.argsort(x, 1), 1),
        x.at[jnp.array([0, 7])].get(mode="fill"),
        x.at[jnp.array([9])].set(1.0, mode="clip"),
        jax.lax.stop_gradient(x).at[jnp.array([2, 0, 2]), 1].mul(2.0),
        x.at[jnp.array([0, 9])].add(2.0, mode="drop"),
        jax.vmap(lambda row, place: row.at[place].min(0.5))(x, jnp.array([3, 0, 3])),
        jax.ops.segment_max(x, jnp.array([1, 0, 1]), 4),
        jax.lax.dynamic_slice(x, (jnp.argmax(x[0]), 3), (2, 2)),
        jax.lax.dynamic_update_slice(x, x[:2, :2], (jnp.argmin(x[0]), 3)),
        jax.lax.top_k(x, 2),
    ),
    "matrices": lambda x: (
        jnp.linalg.solve(x[:, :3] + 3 * jnp.eye(3), x),
        jnp.linalg.det(x[:, 1:]),
        jnp.linalg.inv(jnp.stack([x[:, 1:], x[:, :3]]) + 3 * jnp.eye(3)),
        jnp.linalg.cholesky(x @ x.T + jnp.eye(3)),
        *(
            jax.lax.linalg.triangular_solve(
                x[:, 1:] + 4 * jnp.eye(3), x[:, :3], left_side=left, lower=lower, transpose_a=left, unit_diagonal=lower
            )
            for left in (False, True)
            for lower in (False, True)
        ),
    ),
    "windows": lambda x: (
        jax.lax.conv_general_dilated(x[None], x[:, None, :3], (2,), [(1, 2)], (2,), (2,), feature_group_count=3),
        jax.lax.conv_general_dilated(
            x[None, ..., None], x[:2, :2, None, None], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        ),
        jax.lax.conv_transpose(x[None], x[:, :2, None], (2,), "SAME", dimension_numbers=("NCH", "IHO", "NCH")),
        jax.lax.pad(x, x[0, 0], [(1, -1, 0), (-1, 2, 1)]),
        jnp.tile(x, (2, 3)),
        jax.lax.cumlogsumexp(x, axis=1, reverse=True),
    ),
    "special": lambda x: (jax.lax.erf(x), jax.lax.erfc(x), jax.lax.lgamma(jnp.abs(x) + 1), jax.lax.rsqrt(jnp.abs(x))),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_has_the_values_that_jax_gives(name: str, dtype: Any) -> None:
    """Evaluated in numpy, a traced program and its gradient agree with JAX to within rounding."""
    from opkit.verify.subjects.jax.interpret import evaluate

    x = np.random.default_rng(7).standard_normal((3, 4)).astype(dtype)
    with jax.enable_x64(dtype == np.float64):
        programs = [lambda y: jax.tree.leaves(PROGRAMS[name](y))]
        if name not in ("loops",):
            floats = lambda y: sum(jnp.sum(i) for i in programs[0](y) if i.dtype.kind == "f")  # noqa: E731
            programs.append(lambda y: [jax.grad(floats)(y)])
        for program in programs:
            expected = jax.jit(program)(x)
            found = evaluate(jax.make_jaxpr(program)(x), [x])
            for one, other in zip(found, expected, strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_allclose(one, other, rtol=5e-5 if dtype == np.float32 else 1e-12, atol=1e-6)


def test_a_triangular_solve_in_numpy_keeps_its_digits() -> None:
    """The way to the gradient of a solve with whole numbers is as near to exact fractions as JAX's substitution is."""
    from opkit.verify.subjects.jax.interpret import evaluate

    rng, count = np.random.default_rng(0), 40
    a, b = np.tril(rng.integers(1, 60, (count, count))).astype(float), np.ones((count, 1))
    exact: list[Fraction] = []
    for row in a.astype(int).tolist():
        exact.append((1 - sum(map(operator.mul, row, exact), Fraction())) / row[len(exact)])
    with jax.enable_x64(True):
        program = jax.make_jaxpr(partial(jax.lax.linalg.triangular_solve, left_side=True, lower=True))(a, b)
        (found,) = evaluate(program, [a, b])
    expected = np.array(exact, dtype=float)
    assert np.abs(found[:, 0] - expected).max() < 1e-13 * np.abs(expected).max()


def opkit(folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    return served([*argv], folder, {**os.environ, "XDG_CACHE_HOME": str(folder / ".cache")})


SCRIPT = """
import jax, jax.numpy as jnp, numpy as np

@jax.custom_vjp
def right(x):
    return jnp.sin(x)
right.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (g * jnp.cos(x),))

@jax.custom_vjp
def wrong(x):
    return 3 * x
wrong.defvjp(lambda x: (3 * x, None), lambda r, g: (2.9 * g,))

@jax.jit
def loss(w, x):
    return jnp.sum(right(wrong(x @ w)) ** 2)

w, x = jnp.ones((3, 2)), jnp.asarray(np.random.default_rng(0).standard_normal((4, 3)))
for _ in range(3):
    w = w - 0.01 * jax.grad(loss)(w, x)
"""


def test_a_training_script_is_checked_on_what_it_saw_under_jit(tmp_path: Path) -> None:
    """Values reach the recorder from within a compiled gradient; each function gets its own verdict."""
    (tmp_path / "train.py").write_text(SCRIPT)
    run = opkit(tmp_path, "gradcheck", "train.py", "--timeout", "600")
    assert run.returncode == 1
    assert "pass      train.py::right" in run.stdout
    assert "FAIL      train.py::wrong" in run.stdout


@pytest.mark.parametrize("name", ["custom_vjp", "custom_jvp"])
def test_what_a_rule_calls_itself_is_not_recorded(name: str) -> None:
    """Three calls under grad are three recorded calls, also where the rule calls its own function once more."""
    from opkit.verify.subjects.jax.recorder import recording

    function = getattr(jax, name)(lambda x: jnp.tanh(x))
    if name == "custom_vjp":
        function.defvjp(lambda x: (function(x), x), lambda x, dy: (dy / jnp.cosh(x) ** 2,))
    else:
        function.defjvp(lambda primals, tangents: (function(*primals), tangents[0] / jnp.cosh(primals[0]) ** 2))
    with recording() as heard:
        for number in range(3):
            jax.grad(function)(jnp.float32(number))
            jax.effects_barrier()
    (calls,) = heard.calls[function].values()
    assert [float(call["x"]) for call in calls] == [0, 1, 2]


def test_a_repro_needs_jax_and_numpy_only(tmp_path: Path) -> None:
    """It shows the slopes beside what the rule gives, and runs where opkit cannot be imported."""
    (tmp_path / "act.py").write_text(SCRIPT.partition("@jax.jit")[0])
    run = opkit(tmp_path, "gradcheck", "--effort", "0.1", "act.py::wrong")
    failure = re.findall(r"--repro ([0-9a-f]+)", run.stdout)[0]
    opkit(tmp_path, "gradcheck", "--repro", failure)
    code = "import sys, runpy; sys.modules['opkit'] = None; runpy.run_path(sys.argv[1])"
    shown = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / f"repro_{failure}.py")], capture_output=True, text=True, timeout=300
    )
    assert shown.returncode == 0, shown.stderr
    left, right, rule = (float(line.split(":")[1]) for line in shown.stdout.splitlines()[:3])
    assert (round(left, 4), round(right, 4), round(rule, 4)) == (3.0, 3.0, 2.9)


TREES = """
from typing import NamedTuple

import jax
import jax.numpy as jnp

class Layer(NamedTuple):
    w: object
    b: object

@jax.custom_vjp
def linear(params, x):
    return x @ params["layer"].w + params["layer"].b + params["rest"][0]

def forward(params, x):
    return linear(params, x), (params, x)

def backward(kept, g):
    params, x = kept
    return {"layer": Layer(x.T @ g, 2 * g.sum(0)), "rest": [g.sum()[None], None]}, g @ params["layer"].w.T

linear.defvjp(forward, backward)

if __name__ == "__main__":
    params = {"layer": Layer(jnp.ones((3, 2)), jnp.zeros(2)), "rest": [jnp.ones(1), None]}
    jax.jit(jax.grad(lambda params: linear(params, jnp.ones((4, 3))).sum()))(params)
"""


def test_a_repro_puts_arrays_back_into_their_trees(tmp_path: Path) -> None:
    """Dicts, named tuples of the file and lists with None; of a recorded script, which shows how trees are built."""
    (tmp_path / "train.py").write_text(TREES)
    found = opkit(tmp_path, "gradcheck", "--effort", "0.1", "--recorded-only", "train.py")
    failure = re.findall(r"--repro ([0-9a-f]+)", found.stdout)[0]
    opkit(tmp_path, "gradcheck", "--repro", failure)
    code = "import sys, runpy; sys.modules['opkit'] = None; runpy.run_path(sys.argv[1])"
    shown = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / f"repro_{failure}.py")], capture_output=True, text=True, timeout=300
    )
    assert shown.returncode == 0, shown.stderr
    left, right, rule = (float(line.split(":")[1]) for line in shown.stdout.splitlines()[:3])
    assert (round(left, 2), round(right, 2), round(rule, 2)) == (1.0, 1.0, 2.0)


LINEAR = """
import jax
import jax.numpy as jnp


@jax.custom_vjp
def linear(params, x):
    return x @ params["w"] + params["b"]


linear.defvjp(lambda params, x: (linear(params, x), (params, x)), lambda kept, dy: (
    {"w": kept[1].T @ dy, "b": dy.mean(0)}, dy @ kept[0]["w"].T))


def cases_linear(rng):
    yield {"params": {"w": rng.normal(size=(3, 2)), "b": rng.normal(size=2)}, "x": rng.normal(size=(4, 3))}
"""


def test_leaves_of_a_tree_are_called_by_their_places(tmp_path: Path) -> None:
    """The bias of a dict of parameters is params['b'] in the report, and in the script that repeats the failure."""
    (tmp_path / "file.py").write_text(LINEAR)
    found = opkit(tmp_path, "gradcheck", "--effort", "0.1", "file.py::linear")
    assert "jacobian of d(y)/d(params['b'])" in found.stdout
    assert "case params['b'] float64 (2,), params['w'] float64 (3, 2), x float64 (4, 3)" in " ".join(found.stdout.split())
    failure = re.findall(r"--repro ([0-9a-f]+)", found.stdout)[0]
    opkit(tmp_path, "gradcheck", "--repro", failure)
    script = [sys.executable, str(tmp_path / f"repro_{failure}.py")]
    shown = subprocess.run(script, capture_output=True, text=True, timeout=300)
    values = [round(float(line.split(":")[1]), 6) for line in shown.stdout.splitlines()[:3]]
    assert values == [1.0, 1.0, 0.25], shown.stderr


KEPT = """
import jax
import jax.numpy as jnp

last = {}


@jax.custom_vjp
def gated(x, gate):
    return x * jnp.tanh(gate)


def forward(x, gate):
    last.update(x=x, t=jnp.tanh(gate))
    return gated(x, gate), None


gated.defvjp(forward, lambda kept, dy: (dy * last["t"], dy * last["x"] * (1 - last["t"] ** 2)))


def cases_gated(rng):
    yield {"x": rng.normal(size=(3, 4)), "gate": rng.normal(size=(3, 4))}
"""


WEAK = """
import jax


@jax.custom_vjp
def times(x, k):
    if not k.weak_type:
        raise TypeError("k is a plain number")
    return k * x


times.defvjp(lambda x, k: (times(x, k), k), lambda k, g: (k * g, None))
"""


LOOKS = """
import jax
import numpy as np


@jax.custom_vjp
def by_count(x, count):
    if bool((count <= 0).any()):
        raise ValueError("counts are positive")
    return x * count


by_count.defvjp(lambda x, count: (by_count(x, count), count), lambda count, g: (g * count, None))


def cases_by_count(rng):
    yield {"x": rng.standard_normal((3, 4)).astype(np.float32), "count": rng.integers(1, 5, (3, 4))}
"""


def test_a_function_that_looks_at_values_gets_arrays_of_jax(tmp_path: Path) -> None:
    """Of float32 and whole numbers JAX makes float32, and numpy float64: a right function FAILED by GC141."""
    (tmp_path / "looks.py").write_text(LOOKS)
    done = opkit(tmp_path, "gradcheck", "looks.py::by_count")
    assert done.stdout.startswith("undecided"), done.stdout
    assert re.findall(r"GC\d+", done.stdout) == ["GC211"]


def test_an_option_that_the_search_made_up_accuses_nobody(tmp_path: Path) -> None:
    """A plain number, which JAX traces as an array and hands on as it is elsewhere: forward asks it for what arrays have."""
    (tmp_path / "weak.py").write_text(WEAK)
    done = opkit(tmp_path, "gradcheck", "weak.py::times")
    assert done.stdout.startswith("undecided"), done.stdout
    assert "the search gave k, of which nothing is declared, as an option" in " ".join(done.stdout.split())


def test_all_gradients_of_what_is_kept_between_calls_are_named(tmp_path: Path) -> None:
    """Not the first alone."""
    (tmp_path / "file.py").write_text(KEPT)
    found = opkit(tmp_path, "gradcheck", "--effort", "0.1", "file.py::gated")
    said = r"the gradient of gate \([^)]*\) and of x \([^)]*\) is another one when forward runs again before backward"
    assert re.search(said, " ".join(found.stdout.split()))


STRUCTURES = """
from dataclasses import dataclass
from typing import NamedTuple
import jax, jax.numpy as jnp

class Pair(NamedTuple):
    a: jax.Array
    b: jax.Array

@jax.tree_util.register_dataclass
@dataclass
class Line:
    a: jax.Array
    b: jax.Array

@jax.custom_vjp
def named(p, x):
    return p.a * x + p.b
named.defvjp(lambda p, x: (named(p, x), (p, x)), lambda r, g: (Pair(g * r[1], g), g * r[0].a))

@jax.custom_vjp
def line(p, x):
    return p.a * x + p.b
line.defvjp(lambda p, x: (line(p, x), (p, x)), lambda r, g: (Line(g * r[1], g), g * r[0].a))

def made(function):
    rule = jax.custom_vjp(function)
    rule.defvjp(lambda t: (function(t), t), lambda t, g: ({"a": g * t["b"], "b": g * t["a"]},))
    return rule

product = made(lambda t: t["a"] * t["b"])

def cases_named(rng):
    yield {"p": Pair(rng.standard_normal(3), rng.standard_normal(3)), "x": rng.standard_normal(3)}

def cases_line(rng):
    yield {"p": Line(rng.standard_normal(3), rng.standard_normal(3)), "x": rng.standard_normal(3)}

def cases_product(rng):
    yield {"t": {"a": rng.standard_normal(3), "b": rng.standard_normal(3)}}
"""


@pytest.mark.parametrize("name", ["named", "line", "product"])
def test_a_tree_is_confirmed_in_an_ordinary_process(tmp_path: Path, name: str) -> None:
    """Of a named tuple, of a registered dataclass, and of a function that has another name than its file calls it."""
    (tmp_path / "trees.py").write_text(STRUCTURES)
    found = opkit(tmp_path, "gradcheck", "--effort", "0.1", f"trees.py::{name}")
    assert found.returncode == 0, found.stdout
    assert "not confirmed" not in found.stdout


def of_tree(function: Any, cases: Any) -> OpReport:
    """Check a function of one tree on these cases in this process."""
    from opkit.verify.subjects.jax.framework import framework

    options = Options(effort=0.1)
    made = framework.named(function, {"cases_squares": cases, "cases_taken": cases}, "f", options)
    return check(made, options)


def test_trees_of_two_structures_are_taken_by_one_function() -> None:
    """Each case's arrays go into the tree that they came in."""

    def squares(t: Any) -> Any:
        return sum(jnp.sum(leaf * leaf) for leaf in jax.tree.leaves(t))

    def cases(rng: Any) -> Any:
        yield {"t": {"a": rng.standard_normal(3), "b": rng.standard_normal(2)}}
        yield {"t": {"a": rng.standard_normal(3), "b": rng.standard_normal(2), "c": rng.standard_normal(4)}}

    rule = jax.custom_vjp(squares)
    rule.defvjp(lambda t: (squares(t), t), lambda t, g: (jax.tree.map(lambda leaf: 2 * g * leaf, t),))
    assert of_tree(rule, cases).status is Status.PASS


@pytest.mark.parametrize(("factor", "expected"), [(1, Status.PASS), (5, Status.FAIL)])
def test_a_tree_with_whole_numbers_beside_floats_is_checked(factor: int, expected: Status) -> None:
    """The floats' gradient is compared, that of the whole numbers is float0."""

    def taken(t: Any) -> Any:
        return t["table"][t["i"]]

    def backward(t: Any, g: Any) -> Any:
        table = factor * jnp.zeros_like(t["table"]).at[t["i"]].add(g)
        return ({"table": table, "i": np.zeros(t["i"].shape, jax.dtypes.float0)},)

    def cases(rng: Any) -> Any:
        yield {"t": {"table": rng.standard_normal((5, 3)), "i": np.array([1, 1, 2, 0])}}

    rule = jax.custom_vjp(taken)
    rule.defvjp(lambda t: (taken(t), t), backward)
    assert of_tree(rule, cases).status is expected


@pytest.mark.parametrize("is_list", [False, True])
def test_a_dict_that_names_no_parameter_is_an_argument(is_list: bool) -> None:
    """As the function itself takes it: gradcheck(f, (params,)), and as a list."""

    def product(t: Any) -> Any:
        return t["a"] * t["b"]

    rule = jax.custom_vjp(product)
    rule.defvjp(lambda t: (product(t), t), lambda t, g: ({"a": g * t["b"], "b": g * t["a"]},))
    params = {"a": jnp.array([0.5, 2.0]), "b": jnp.array([1.5, -1.0])}
    assert assert_gradients(rule, [params] if is_list else (params,), effort=0.1).status is Status.PASS


def test_assert_gradients_takes_a_function_with_a_rule() -> None:
    """The whole report is the message."""
    x = jnp.array([0.5, -1.0, 2.0])
    assert assert_gradients(loaded("right").swish, (x,)).status is Status.PASS
    with pytest.raises(GradientError, match="FAIL GC101"):
        assert_gradients(loaded("faults").product_swapped, (x, x * 2))


def test_a_name_that_is_not_there_brings_the_nearest(tmp_path: Path) -> None:
    """Among the custom functions of the file."""
    (tmp_path / "act.py").write_text(SCRIPT.partition("@jax.jit")[0])
    run = opkit(tmp_path, "gradcheck", "act.py::rihgt")
    assert run.returncode != 0
    assert "did you mean 'right'" in " ".join(run.stdout.split())


@jax.custom_vjp
def cut(x: Any) -> Any:
    return x**3


cut.defvjp(lambda x: (x**3, jax.lax.stop_gradient(3 * x * x)), lambda slope, g: (g * slope,))


def test_a_wrong_gradient_of_the_gradient_fails_where_it_is_promised() -> None:
    """The rule is right and stops the way back to the input; a right one passes."""
    from opkit.verify.subjects.jax.framework import framework

    for function, names, demand, expected in (
        (cut, {}, False, Status.PASS),
        (cut, {}, True, Status.FAIL),
        (cut, {"SECOND_ORDER": True}, False, Status.FAIL),
        (loaded("right").swish, {"SECOND_ORDER": True}, False, Status.PASS),
    ):
        options = Options(effort=0.1, demand_second=demand)
        made = framework.named(function, names, "f", options)
        report = check(made, options)
        assert report.status is expected
        assert {item.code for item in report.findings} <= {"GC171"}


def test_a_function_without_a_rule_is_refused(tmp_path: Path) -> None:
    """The message names what is missing."""
    (tmp_path / "f.py").write_text("import jax\n\n@jax.custom_vjp\ndef f(x):\n    return x\n")
    run = opkit(tmp_path, "gradcheck", "f.py::f")
    assert run.returncode == 3
    assert "f.defvjp(fwd, bwd)" in run.stdout


def test_a_function_of_this_process_is_checked_with_all_that_it_goes_through() -> None:
    """The custom function within gets a report of its own; the whole is checked against differences."""
    import opkit as package

    def whole(x: Any) -> Any:
        return jnp.sum(loaded("faults").square_factor(x))

    report = package.gradcheck(whole, (jnp.array([0.5, -1.0, 2.0]),))
    assert [(item.op.rpartition(":")[2].rpartition(".")[2], item.status) for item in report.ops] == [
        ("whole", Status.FAIL),
        ("made", Status.FAIL),
    ]


def test_a_check_file_that_is_run_is_confirmed(tmp_path: Path) -> None:
    """An ordinary process finds its functions as it finds those of FILE.py::Name."""
    (tmp_path / "mine.py").write_text(
        "import jax\nTWO = jax.numpy.ones(1) + 1  # JAX starts threads for it\n@jax.custom_vjp\ndef double(x):\n    return 2 * x\n"
        "double.defvjp(lambda x: (2 * x, None), lambda _, g: (2 * g,))\n"
    )
    (tmp_path / "check_mine.py").write_text(
        "from mine import double\ndef cases_double(rng):\n    yield {'x': rng.normal(size=3)}\n"
    )
    assert "pass      GC199" in opkit(tmp_path, "gradcheck", "check_mine.py", "-v").stdout


@ON_OWN
def test_the_report_of_jaxs_own_faults_is_as_its_golden_file() -> None:
    """The text of each code, times and cases masked; OPKIT_UPDATE_GOLDEN=1 writes it."""
    reports = tuple(report_of("faults", name, 0.05) for name in OWN)
    text = masked(text_report(Outcome(Report("0", 0, reports)), width=160))
    path = Path(__file__).parent / "golden" / "jax.text"
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


PAGE = (Path(__file__).resolve().parents[2] / "docs" / "jax.md").read_text(encoding="utf-8")


def test_the_page_shows_what_the_command_says(tmp_path: Path) -> None:
    """docs/jax.md: its file fails as the page shows."""
    ((name, text),) = re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    ((command, shown),) = re.findall(r"^```text\n\$ opkit (.*?)\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / name).write_text(text)
    run = opkit(tmp_path, *command.split(), "--timeout", "600")
    assert run.returncode == 1
    assert shown in run.stdout


@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (2.0, Status.FAIL)])
def test_a_python_float_of_a_case_takes_a_gradient(factor: float, status: Status) -> None:
    """JAX differentiates whatever nondiff_argnums does not name, numbers too, in the dtype of the case."""
    from opkit.verify.subjects.jax.framework import framework

    @jax.custom_vjp
    def scaled(x: Any, by: Any) -> Any:
        return x * by

    scaled.defvjp(lambda x, by: (x * by, (x, by)), lambda kept, g: (g * kept[1], factor * (g * kept[0]).sum()))
    names = {"cases": lambda rng: [{"x": rng.normal(size=3).astype(dtype), "by": 0.5} for dtype in ("f4", "f8")]}
    made = framework.named(scaled, names, "scaled", Options(effort=0.1))
    report = check(made, Options(effort=0.1, select=frozenset({"GC101"})))
    assert report.status is status, report
    assert {item.input for item in report.checks} == {"x", "by"}


def test_a_finding_shows_the_rule_that_was_given_to_defjvps() -> None:
    """The rule that JAX makes of those is none of the user's lines."""

    @jax.custom_jvp
    def softsign(x):
        return x / (1 + jnp.abs(x))

    softsign.defjvps(lambda t, y, x: t / (1 + x) ** 2)
    from opkit.verify.subjects.jax.function import function_subject

    where = function_subject(softsign).backward_where
    assert where is not None
    assert Path(where.file).name == "test_jax.py"


def test_of_a_rule_for_jvp_the_tangent_that_it_leaves_out_is_named() -> None:
    """It returns no gradients, so there is no None among them."""

    @jax.custom_jvp
    def scaled(x: Any, beta: Any) -> Any:
        return x * beta

    scaled.defjvp(lambda primals, tangents: (scaled(*primals), tangents[0] * primals[1]))
    inputs = {"x": np.linspace(-1.0, 1.0, 3), "beta": np.linspace(1.0, 2.0, 3)}
    (op,) = gradcheck(scaled, cases=lambda rng: iter([inputs]), effort=0.1).ops
    (finding,) = op.findings
    assert "tangent" in finding.hint
    assert "None" not in finding.hint


def on_derivatives(function: Any, cases: Any = None) -> Status:
    """Return the verdict on a function's derivatives, found by search or on cases; compiled and batched it is checked elsewhere."""
    options = Options(effort=0.1, select=frozenset({"GC101"}))
    made = framework_of("jax").named(function, {} if cases is None else {"cases": cases}, function.__name__, options)
    return check(replace(made, own=()), options).status


@pytest.mark.parametrize(("sign", "status"), [(1.0, Status.PASS), (-1.0, Status.FAIL)])
def test_complex_gradients_are_those_of_jax(sign: float, status: Status) -> None:
    """JAX does not conjugate them: that of |z|**2 is twice the conjugate of z."""

    @jax.custom_vjp
    def power(z: Any) -> Any:
        if not jnp.iscomplexobj(z):
            raise TypeError("z must be complex")
        return z.real**2 + z.imag**2

    power.defvjp(lambda z: (power(z), z), lambda z, dy: (2 * dy * (z.real - sign * 1j * z.imag),))
    assert on_derivatives(power) is status


@pytest.mark.parametrize(("is_right", "status"), [(True, Status.PASS), (False, Status.FAIL)])
def test_the_slope_of_the_phase_counts(is_right: bool, status: Status) -> None:
    """Along a line through 0, z |z|**2 has the derivative 3 |z|**2 of a cube; that such numbers are found, test_torch says."""

    @jax.custom_vjp
    def kerr(z: Any) -> Any:
        return z * (z.real**2 + z.imag**2)

    def backward(z: Any, dy: Any) -> Any:
        square = z.real**2 + z.imag**2
        return (2 * square * dy + (z * z).conj() * dy.conj() if is_right else 3 * square * dy,)

    kerr.defvjp(lambda z: (kerr(z), z), backward)
    assert on_derivatives(kerr, lambda rng: [{"z": np.exp(1j * rng.normal(size=size))} for size in (1, 3)]) is status


@pytest.mark.peer
def test_complex_arrays_in_cases_are_differentiated(here: Path) -> None:
    """By their real and imaginary parts, in JAX's convention."""
    text = """
import jax
import jax.numpy as jnp


@jax.custom_vjp
def abs2(z, w):
    return (z * z.conj()).real * w


abs2.defvjp(lambda z, w: (abs2(z, w), (z, w)), lambda r, g: (2 * r[0].conj() * (g * r[1]), g * jnp.abs(r[0]) ** 2))


def cases(rng):
    for size in (3, 4):
        yield {"z": rng.standard_normal(size) + 1j * rng.standard_normal(size), "w": rng.standard_normal(size)}
"""
    (here / "right.py").write_text(text)
    (here / "wrong.py").write_text(text.replace("2 * r[0].conj()", "2 * r[0]"))
    from opkit.verify import gradcheck

    reports = gradcheck([f"{here}/right.py::abs2", f"{here}/wrong.py::abs2"], replay=False).ops
    assert [report.status.value for report in reports] == ["pass", "fail"]
