"""``FILE.py::Name``: PyLayers are found, given their cases, and checked in dynamic mode."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.checker import OpReport, Options, Status
from opkit.checker.search import pipeline
from opkit.eager import PyLayer
from opkit.verify import RunOptions, gradcheck, run_targets
from opkit.verify.subjects import from_search

QUICK = RunOptions(Options(effort=0.05), timeout=30)

HEAD = """
import numpy as np
from opkit.eager import PyLayer, Tensor
"""

TANH = """
class Tanh(PyLayer):
    @staticmethod
    def forward(ctx, x):
        y = Tensor(np.tanh(x.numpy()))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensor()
        return Tensor(dy.numpy() * (1 - y.numpy() ** 2))
"""

SCALE = """
class Scale(PyLayer):
    @staticmethod
    def forward(ctx, x, index, factor=2.0, *, shift):
        ctx.factor, ctx.index, ctx.shape = factor, index.numpy(), x.numpy().shape
        return Tensor(x.numpy()[ctx.index] * factor + shift), "extra"

    @staticmethod
    def backward(ctx, dy):
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        np.add.at(dx, ctx.index, dy.numpy() * ctx.factor)
        return Tensor(dx), None


def cases_Scale(rng):
    yield {"x": rng.normal(size=5), "index": np.array([0, 2, 2]), "shift": 1.5}
    yield {"x": rng.normal(size=(3, 2)), "index": np.array([1, 1]), "factor": -0.5, "shift": 0.0}
"""

JOIN = """
class Join(PyLayer):
    @staticmethod
    def forward(ctx, parts, weight):
        ctx.sizes = [part.numpy().shape[0] for part in parts]
        ctx.save_for_backward(weight, *parts)
        whole = np.concatenate([part.numpy() for part in parts])
        return Tensor(whole * weight.numpy()), Tensor(whole.sum(keepdims=True))

    @staticmethod
    def backward(ctx, dwhole, dsum):
        weight, *parts = ctx.saved_tensor()
        g = dwhole.numpy() * weight.numpy() + dsum.numpy()
        cuts = np.cumsum(ctx.sizes)[:-1]
        whole = np.concatenate([part.numpy() for part in parts])
        return [Tensor(np.array(p)) for p in np.split(g, cuts)], Tensor(dwhole.numpy() * whole)


def cases(rng):
    yield {"parts": [rng.normal(size=2), rng.normal(size=3)], "weight": rng.normal(size=5)}
"""


def run(here: Path, text: str, name: str, **options):
    """Write a file with layers and check one of them."""
    (here / "layers.py").write_text(HEAD + text)
    return run_targets([f"layers.py::{name}"], RunOptions(Options(effort=0.05, **options), timeout=30))


def accused(op: OpReport) -> set[tuple[str, str | None]]:
    """Return the codes of its findings, and of which input's gradient: all else about it is right."""
    return {(item.code, item.input) for item in op.findings}


@pytest.mark.parametrize(("text", "name"), [(TANH, "Tanh"), (SCALE, "Scale"), (JOIN, "Join")])
def test_right_layers_pass(here: Path, text: str, name: str) -> None:
    """One array made up, cases by name with other values, lists and several outputs."""
    outcome = run(here, text, name)
    (op,) = outcome.report.ops
    assert (op.op, op.dir, op.status.value) == (f"layers.py::{name}", None, "pass"), op.findings


ADD = "np.add.at(dx, ctx.index, dy.numpy() * ctx.factor)"
WRONG = {
    "sign": (TANH, "Tanh", "1 - y", "1 + y", "GC101"),
    "dtype": (
        TANH,
        "Tanh",
        "dy.numpy() * (1 - y.numpy() ** 2)",
        "(dy.numpy() * (1 - y.numpy() ** 2)).astype('float32')",
        "GC143",
    ),
    "accumulation": (SCALE, "Scale", ADD, "dx[ctx.index] = dy.numpy() * ctx.factor", "GC101"),
    "attribute": (SCALE, "Scale", "* ctx.factor)", "* 2)", "GC101"),
    "output": (JOIN, "Join", " + dsum.numpy()", "", "GC101"),
    "count": (JOIN, "Join", "return [Tensor", "return 2 * [Tensor", "GC181"),
    "none": (TANH, "Tanh", "        return Tensor(dy", "        return None\n        return Tensor(dy", "GC181"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_layers_fail_at_their_backward(here: Path, kind: str) -> None:
    """Each mistake has its code, and the place is backward's line."""
    text, name, old, new, code = WRONG[kind]
    assert old in text
    (op,) = run(here, text.replace(old, new), name).report.ops
    assert op.status.value == "fail"
    found = [item for item in op.findings if item.code == code]
    assert found, [(item.code, item.message) for item in op.findings]
    assert found[0].where.file == "layers.py"


def test_a_context_shared_between_calls_is_seen(here: Path) -> None:
    """State kept on the class instead of ctx breaks when another forward comes between."""
    wrong = TANH.replace("ctx.save_for_backward(y)", "Tanh.y = y").replace("(y,) = ctx.saved_tensor()", "y = Tanh.y")
    (op,) = run(here, wrong, "Tanh").report.ops
    assert op.status.value == "fail"
    assert any(item.code == "GC125" for item in op.findings)


def test_shapes_may_be_given_instead_of_cases(here: Path) -> None:
    """--shape x=3,4 stands in for a cases function."""
    text = SCALE[: SCALE.index("def cases")].replace("x, index, factor=2.0, *, shift", "x, w")
    text = """
class Mul(PyLayer):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return Tensor(x.numpy() * w.numpy())

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensor()
        return Tensor(dy.numpy() * w.numpy()), Tensor(dy.numpy() * x.numpy())
"""
    assert run(here, text, "Mul", shapes={"x": (3, 4), "w": (3, 4)}).report.status.value == "pass"
    outcome = run(here, text.replace("(ctx, x, w):\n", "(ctx, x, w):\n        w.no_such_thing\n"), "Mul")
    (finding,) = outcome.report.ops[0].findings
    assert finding.code == "GC182"
    assert "cases_Mul" in finding.message


def test_shapes_behind_guards_are_found(here: Path) -> None:
    """Two matrices and two scalars that forward insists on are found by how far it gets; of four gradients the wrong one fails."""
    text = """
class Pair(PyLayer):
    @staticmethod
    def forward(ctx, x, y, scale, bias):
        x, y, scale, bias = x.numpy(), y.numpy(), scale.numpy(), bias.numpy()
        if x.ndim != 3 or x.shape[2] != 3 or y.shape != x.shape[:2] or scale.ndim or bias.ndim:
            raise ValueError("expected (n, m, 3), (n, m) and two scalars")
        ctx.saved = x, y, scale
        return Tensor((x * y[..., None]).sum(2) * scale + bias)

    @staticmethod
    def backward(ctx, dy):
        (x, y, scale), dy = ctx.saved, dy.numpy()
        by = (dy * (x * y[..., None]).sum(2)).sum()
        dx = (dy * scale * y)[..., None] * np.full(3, 2.0, x.dtype)
        return Tensor(dx), Tensor(dy * scale * x.sum(2)), Tensor(by), Tensor(dy.sum())
"""
    (op,) = run(here, text, "Pair").report.ops
    assert accused(op) == {("GC101", "x")}


def test_a_missing_name_gives_the_nearest(here: Path) -> None:
    """A mistyped layer is an error that names the one there is."""
    (finding,) = run(here, TANH, "Tahn").report.ops[0].findings
    assert finding.code == "GC200"
    assert "'Tanh'" in finding.message


def test_a_file_without_functions_is_told_what_it_would_import(here: Path) -> None:
    """Nothing but PyLayers is known of a file that imports no other framework."""
    (finding,) = run(here, "x = 3\n", "Tanh").report.ops[0].findings
    assert (finding.code, finding.hint) == ("GC200", "functions of torch and jax are found in a file that imports these")


def test_a_plain_function_is_said_to_be_checked_in_python(here: Path) -> None:
    """Its gradient is another function, which no name of a target gives."""
    (finding,) = run(here, "def cube(x):\n    return x**3\n", "cube").report.ops[0].findings
    assert (finding.code, "opkit.gradcheck(forward=f" in finding.hint) == ("GC200", True)


def test_a_file_that_does_not_import_is_told_with_its_line(here: Path) -> None:
    """An exception at the top level is a finding at that line."""
    (finding,) = run(here, "\nraise RuntimeError('no')\n", "Tanh").report.ops[0].findings
    assert (finding.code, finding.where.file, finding.where.line) == ("GC195", "layers.py", 5)


WINDOWS = """
class Windows(PyLayer):
    @staticmethod
    def forward(ctx, x, w, bias=None):
        ctx.save_for_backward(x, w)
        ctx.has_bias = bias is not None
        windows = np.lib.stride_tricks.sliding_window_view(x.numpy(), w.shape[2], 2)
        y = np.einsum("nclk,ock->nol", windows, w.numpy())
        return Tensor(y if bias is None else y + bias.numpy()[None, :, None])

    @staticmethod
    def backward(ctx, dy):
        x, w = (item.numpy() for item in ctx.saved_tensor())
        dy = dy.numpy()
        dx, dw = np.zeros_like(x), np.empty_like(w)
        for place in range(w.shape[2]):
            dx[:, :, place : place + dy.shape[2]] += np.einsum("nol,oc->ncl", dy, w[:, :, place])
            dw[:, :, place] = np.einsum("ncl,nol->oc", x[:, :, place : place + dy.shape[2]], dy)
        return tuple(map(Tensor, [dx, dw, dy.sum(0).sum(1)][: 2 + ctx.has_bias]))
"""


@pytest.mark.parametrize(("change", "status"), [("sum(0)", "pass"), ("mean(0)", "fail")])
def test_an_array_that_may_be_left_out_is_given(here: Path, change: str, status: str) -> None:
    """A search over all three finds no sizes: the bias of a convolution gets one of those with which it goes without."""
    assert run(here, WINDOWS.replace("sum(0)", change), "Windows").report.status.value == status


def test_declared_exceptions_are_served(here: Path) -> None:
    """SURROGATE_Name gives the function whose derivative backward is; without it a surrogate is undecided."""
    text = """
class Round(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return Tensor(np.round(x.numpy()))

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy().copy())
"""
    assert run(here, text, "Round").report.status.value == "undecided"
    declared = text + "\nSURROGATE_Round = {'forward': lambda x: Tensor(x.numpy() * 1.0)}\n"
    (op,) = run(here, declared, "Round").report.ops
    assert op.status.value == "pass", [(item.code, item.message) for item in op.findings]
    assert any("SURROGATE" in note for note in op.notes)


@pytest.mark.parametrize(("factor", "status"), [("-0.5", "pass"), ("-1", "fail"), ("'half'", "error")])
def test_a_surrogate_may_be_a_factor_of_forward(here: Path, factor: str, status: str) -> None:
    """Gradient reversal is as strict as anything else: another factor fails, and words are no factor."""
    text = f"""
class Reverse(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, dy):
        return -0.5 * dy

SURROGATE_Reverse = {{"forward": {factor}}}
"""
    assert run(here, text, "Reverse").report.status.value == status


def test_a_wrong_kink_comes_with_slopes_from_both_sides(here: Path) -> None:
    """The evidence holds -1 from the left and 1 from the right of |x| at 0, and what backward claims."""
    text = """
class Abs(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.numpy()
        return Tensor(np.abs(ctx.x))

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() * np.where(ctx.x == 0, 1.5, np.sign(ctx.x)))


def cases_Abs(rng):
    yield {"x": np.array([-1.0, 0.0, 2.0])}
"""
    (op,) = run(here, text, "Abs").report.ops
    (finding,) = op.findings
    assert finding.code == "GC103"
    slopes = finding.evidence.slopes
    assert (slopes.element, slopes.claimed) == (1, 1.5)
    assert set(slopes.left) == {-1.0}
    assert set(slopes.right) == {1.0}


SECOND = """
from opkit import ops


class Cube(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.square = Tensor(x.numpy() ** 2)
        return Tensor(x.numpy() ** 3)

    @staticmethod
    def backward(ctx, dy):
        (x,) = ctx.saved_tensor()
        return dy * 3.0 * x * x
"""

TWICE = SECOND + "\nSECOND_ORDER_Cube = True\n"


def test_a_backward_of_ops_is_checked_at_second_order(here: Path) -> None:
    """What can be differentiated twice is, and its being right is a check that passes."""
    (op,) = run(here, SECOND, "Cube").report.ops
    assert op.status.value == "pass", op.findings
    assert {item.status.value for item in op.checks if item.code == "GC171"} == {"pass"}


def test_that_no_second_order_is_looked_for_is_said(here: Path) -> None:
    """Where a call takes long and nothing asks for it."""
    slow = SECOND.replace("def forward(ctx, x):", "def forward(ctx, x):\n        __import__('time').sleep(0.06)")
    slow += "\n\ndef cases(rng):\n    yield {'x': rng.normal(size=3)}\n"
    (op,) = run(here, slow, "Cube").report.ops
    assert op.status.value == "pass", op.findings
    assert any("is not looked for where calls take long" in note for note in op.notes)


def test_a_factor_cut_from_the_graph_is_wrong_at_second_order(here: Path) -> None:
    """A factor that depends on x through numpy alone is right once and wrong twice."""
    (op,) = run(here, SECOND.replace("* x * x", "* ctx.square"), "Cube").report.ops
    assert op.status.value == "pass", "with no way back to x nothing is offered"
    (op,) = run(here, SECOND.replace("* x * x", "* x * Tensor(x.numpy())"), "Cube").report.ops
    assert op.status.value == "pass", "nothing asks for a second order"
    assert any("a second derivative would be wrong" in note for note in op.notes)
    (op,) = run(here, SECOND.replace("* x * x", "* 2 * x * Tensor(x.numpy())"), "Cube").report.ops
    assert op.status.value == "fail"
    assert not any("a second derivative" in note for note in op.notes), "the first one is wrong"
    (op,) = run(here, TWICE.replace("* x * x", "* x * Tensor(x.numpy())"), "Cube").report.ops
    assert [(item.code, item.input, item.output) for item in op.findings] == [("GC171", "x", "dx")]


def test_a_factor_cut_from_the_graph_is_explained(here: Path) -> None:
    """Its inputs are those of the cases function, and its zeros are no None in the place of a gradient."""
    cases = "\n\ndef cases(rng):\n    yield {'x': rng.normal(size=3)}\n"
    square = SECOND.replace("dy * 3.0 * x * x", "dy * 3.0 * Tensor(x.numpy() ** 2) + 0.0 * x")
    (op,) = run(here, square + "\nSECOND_ORDER_Cube = True\n" + cases, "Cube").report.ops
    (finding,) = [item for item in op.findings if item.input == "x"]
    assert finding.hint == "save inputs rather than what forward computed, or mark backward once_differentiable"
    assert {item["regime"] for item in finding.case.values()} == {"user"}


def test_the_repro_of_a_second_order_failure_shows_its_slope(here: Path) -> None:
    """The numbers in the script's data are those of the gradient, not of forward."""
    import numpy as np

    from opkit.verify.failures.repro import write_repro

    outcome = run(here, TWICE.replace("* x * x", "* x * Tensor(x.numpy())"), "Cube")
    (failure_id,) = outcome.saved.values()
    data, _ = write_repro(failure_id, here)
    with np.load(data) as arrays:
        slope = ((arrays["left"] + arrays["right"]) / 2)[8]
    (finding,) = outcome.report.ops[0].findings
    assert slope == pytest.approx(finding.expected, rel=1e-5)


OPEN = """
class Open(PyLayer):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x.numpy()
        return Tensor(np.clip(ctx.x, 0, 6))

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() * (ctx.x > 0))


class Times(PyLayer):
    @staticmethod
    def forward(ctx, x, k=1.0):
        return Tensor(x.numpy() * k)

    @staticmethod
    def backward(ctx, dy):
        return dy


class Pair(PyLayer):
    @staticmethod
    def forward(ctx, a, b):
        ctx.a, ctx.b = a.numpy(), b.numpy()
        return Tensor(ctx.a @ ctx.b)

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() @ ctx.b), Tensor(ctx.a.T @ dy.numpy())
"""


@pytest.mark.parametrize("name", ["Open", "Times", "Pair"])
def test_a_layer_without_cases_is_searched_like_a_directory(here: Path, name: str) -> None:
    """A clipped region, an option off its default and a wrong contraction are found without a case."""
    (op,) = run(here, OPEN, name).report.ops
    assert op.status.value == "fail"


NUMBER = """
class Scale(PyLayer):
    @staticmethod
    def forward(ctx, x, k):
        ctx.k = k
        return x * k

    @staticmethod
    def backward(ctx, dy):
        return dy * ctx.k
"""


def test_arrays_that_forward_takes_and_backward_does_not_serve_are_a_line(here: Path) -> None:
    """Paddle raises where a gradient is missing: a pass for numbers says that arrays are not served (rule 4)."""
    (op,) = run(here, NUMBER, "Scale").report.ops
    (line,) = [note for note in op.notes if note.startswith("not served: k as an array")]
    assert (op.status.value, "it returned 1" in line) == ("pass", True)


TREE = """
class Scaled(PyLayer):
    @staticmethod
    def forward(ctx, parameters):
        return parameters["weights"] * 2

    @staticmethod
    def backward(ctx, dy):
        return dy * 2
"""


def test_where_forward_takes_a_dict_a_shape_is_offered_for_plain_arrays_alone(here: Path) -> None:
    """No shape helps where a parameter is read by keys: cases do."""
    (op,) = run(here, TREE, "Scaled").report.ops
    (finding,) = op.findings
    assert finding.code == "GC182"
    assert "; or, for plain arrays, give --shape NAME=3,4" in finding.message


CONSTANT = """
class Blend(PyLayer):
    @staticmethod
    def forward(ctx, x, w):
        assert w.stop_gradient
        ctx.w = w.numpy()
        return Tensor(x.numpy() * ctx.w)

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() * ctx.w), None


def cases_Blend(rng):
    yield {"x": rng.normal(size=4), "w": Tensor(rng.normal(size=4))}
"""


def test_a_tensor_among_the_cases_that_takes_no_gradient_is_a_constant(here: Path) -> None:
    """Its None is right, and forward sees its stop_gradient."""
    (op,) = run(here, CONSTANT, "Blend").report.ops
    assert op.status.value == "pass"


def layers_of(text: str) -> dict[str, Any]:
    """Return the names of a text with PyLayers."""
    names: dict[str, Any] = {"__name__": "somewhere"}
    exec(HEAD + text, names)
    return names


@pytest.mark.parametrize("name", ["Open", "Times"])
def test_a_class_is_searched_as_its_file_is(name: str) -> None:
    """With inputs what lies near them is undecided; without, forward says what it takes, and what fails is a failure."""
    layer = layers_of(OPEN)[name]
    x = np.linspace(-1, 2, 6)
    report = gradcheck(layer, inputs=[x])
    assert report.status.value == "undecided"
    assert any(item.beyond for item in report.ops[0].checks)
    assert gradcheck(layer, inputs=[x], recorded_only=True).status.value == "pass"
    assert gradcheck(layer).status.value == "fail"


def test_several_cases_may_be_given_to_a_class() -> None:
    """Options by name, each case as it is."""
    report = gradcheck(layers_of(OPEN)["Times"], inputs=[{"x": np.ones(3), "k": 1.0}, {"x": np.ones(3), "k": 2.0}])
    assert report.status.value == "fail"


LINEAR = """
import paddle


class Linear(PyLayer):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w)
        return paddle.matmul(x, w, transpose_y=True) + b

    @staticmethod
    def backward(ctx, dy):
        x, w = ctx.saved_tensor()
        return paddle.matmul(dy, w), paddle.matmul(dy, x, transpose_x=True), paddle.sum(dy, axis=0)
"""


@pytest.mark.parametrize(("added", "status"), [("sum", "undecided"), ("mean", "fail")])
def test_nowhere_is_said_after_more_than_a_few_shapes(here: Path, added: str, status: str) -> None:
    """Backward answers x (n, m), w (k, m), b (k,) alone, which are not among the first dozen that forward takes."""
    (report,) = run(here, LINEAR.replace("sum", added), "Linear").report.ops
    assert report.status.value == status, report


def test_a_layer_that_empties_its_argument_fails_whenever_it_is_called(tmp_path: Path) -> None:
    """The search comes upon inputs that were empty already: what raises later is a finding, not an error of ours."""
    path = tmp_path / "emptied.py"
    path.write_text(
        "import paddle\n\n\nclass Emptied(paddle.autograd.PyLayer):\n    @staticmethod\n    def forward(ctx, x, k=1.0):\n        ctx.k = k\n"
        "        y = x * k\n        x.zero_()\n        return y\n\n    @staticmethod\n    def backward(ctx, dy):\n"
        "        return dy * ctx.k\n"
    )
    (report,) = run_targets([f"{path}::Emptied"], QUICK).report.ops
    assert [item.code for item in report.findings] == ["GC122"]


TUPLE = """
class Joined(PyLayer):
    @staticmethod
    def forward(ctx, parts, w):
        assert type(parts) is tuple
        ctx.save_for_backward(*parts, w)
        return (parts[0] + parts[1] * 2) * w

    @staticmethod
    def backward(ctx, dy):
        a, b, w = ctx.saved_tensor()
        return (dy * w, dy * w * 2), dy * (a + b * 2)


def cases(rng):
    yield {"parts": (rng.normal(size=3), rng.normal(size=3)), "w": rng.normal(size=3)}
"""


def test_a_tuple_of_arrays_reaches_forward_as_one(tmp_path: Path) -> None:
    """In the check and in the ordinary process that confirms it; a list stays a list."""
    (tmp_path / "tupled.py").write_text(HEAD + TUPLE)
    (report,) = run_targets([f"{tmp_path / 'tupled.py'}::Joined"], QUICK).report.ops
    assert report.status.value == "pass"
    assert next(item.status.value for item in report.checks if item.code == "GC199") == "pass"
    (tmp_path / "tupled.py").write_text(HEAD + TUPLE.replace("is tuple", "is list").replace('": (', '": [').replace("=3)),", "=3)],"))
    (report,) = run_targets([f"{tmp_path / 'tupled.py'}::Joined"], QUICK).report.ops
    assert report.status.value == "pass"


def test_functions_of_numpy_get_a_tuple_as_one() -> None:
    """Forward and backward."""

    def forward(parts: Any, w: Any) -> Any:
        assert type(parts) is tuple
        return (parts[0] + 2 * parts[1]) * w

    def backward(parts: Any, w: Any, dy: Any) -> Any:
        assert type(parts) is tuple
        return [dy * w, 2 * dy * w], dy * (parts[0] + 2 * parts[1])

    given = {"parts": (np.arange(3.0), np.ones(3)), "w": np.linspace(1.0, 2.0, 3)}
    assert gradcheck(forward=forward, backward=backward, inputs=[given]).status.value == "pass"


NOISE = """
import paddle


class Noise(PyLayer):
    @staticmethod
    def forward(ctx, x):
        noise = paddle.rand(x.shape).astype(x.dtype)
        ctx.save_for_backward(noise)
        return x * noise

    @staticmethod
    def backward(ctx, dy):
        (noise,) = ctx.saved_tensor()
        return dy * noise
"""


@pytest.mark.parametrize(("line", "status"), [("ctx.saved_tensor()", "pass"), ("(paddle.rand(dy.shape),)", "fail")])
def test_random_numbers_are_the_same_at_every_call_and_others_in_backward(here: Path, line: str, status: str) -> None:
    """Dropout that keeps its mask is right; one that draws it again is not, and a note says that it does."""
    text = NOISE.replace("ctx.saved_tensor()", line).replace("dy * noise", "dy * noise.astype(dy.dtype)")
    (op,) = run(here, text, "Noise").report.ops
    assert op.status.value == status, op.findings
    assert any("backward draws random numbers of its own" in note for note in op.notes) == (status == "fail")


KEPT = """
import paddle

kept = {}


class Window(PyLayer):
    @staticmethod
    def forward(ctx, x, beta=2.0):
        ctx.window = kept.setdefault(tuple(x.shape), np.exp(-beta * np.arange(x.shape[-1])))
        return x * paddle.to_tensor(ctx.window.astype(x.numpy().dtype))

    @staticmethod
    def backward(ctx, dy):
        return dy * paddle.to_tensor(ctx.window.astype(dy.numpy().dtype))
"""


def test_what_is_kept_of_a_shape_whatever_the_option_is_found(here: Path) -> None:
    """Each call of one process agrees with the others; a process that begins with another option does not."""
    (op,) = run(here, KEPT, "Window").report.ops
    assert [(item.code, item.status.value) for item in op.findings] == [("GC199", "fail")]
    (op,) = run_targets(["layers.py"], QUICK).report.ops
    assert [(item.code, item.status.value) for item in op.findings] == [("GC199", "fail")], "of a file alike"


PADDED = """
class Padded(PyLayer):
    @staticmethod
    def forward(ctx, x, places):
        x, places = x.numpy(), places.numpy()
        if x.ndim != 2 or places.ndim != 1 or places.dtype.kind != "i" or (places < -9).any() or (places >= len(x)).any():
            raise ValueError("x is a matrix, places are whole numbers")
        kept = places >= 0
        ctx.x, ctx.places, ctx.kept = x, places, kept
        return Tensor(np.where(kept[:, None], x[np.maximum(places, 0)], 0.0))

    @staticmethod
    def backward(ctx, dy):
        dx = np.zeros_like(ctx.x)
        np.add.at(dx, np.maximum(ctx.places, 0), dy.numpy() * ctx.kept[:, None])
        return Tensor(dx), None
"""


@pytest.mark.parametrize(("test", "mark"), [("places >= 0", "-1"), ("places != -3", "-3")])
@pytest.mark.parametrize(("back", "status"), [("dy.numpy() * ctx.kept[:, None]", "pass"), ("dy.numpy()", "fail")])
def test_a_number_that_the_code_sets_apart_is_tried(here: Path, back: str, status: str, test: str, mark: str) -> None:
    """A place that means none, of which no option says so; backward forgets it."""
    text = PADDED.replace("dy.numpy() * ctx.kept[:, None]", back).replace("kept = places >= 0", f"kept = {test}")
    (here / "layers.py").write_text(HEAD + text)
    options = Options(effort=0.3, select=frozenset({"GC101"}))
    (op,) = run_targets(["layers.py::Padded"], RunOptions(options, timeout=30)).report.ops
    assert op.status.value == status, op.findings
    assert f"places in [{mark}, " in op.rests_on


AXES = """
class MeanSquare(PyLayer):
    @staticmethod
    def forward(ctx, x, axis=-1):
        ctx.x, ctx.axis = x.numpy(), axis
        return Tensor((ctx.x**2).mean(axis=axis))

    @staticmethod
    def backward(ctx, dy):
        axes = ctx.axis if isinstance(ctx.axis, (tuple, list)) else [ctx.axis]
        axes = sorted(axis % ctx.x.ndim for axis in axes)
        count = int(np.prod([ctx.x.shape[axis] for axis in axes[:1]]))
        return Tensor(2 * ctx.x * np.expand_dims(dy.numpy(), tuple(axes)) / count)
"""


@pytest.mark.parametrize(("counted", "status"), [("axes", "pass"), ("axes[:1]", "fail")])
def test_an_option_that_may_be_a_tuple_is_one(here: Path, counted: str, status: str) -> None:
    """Several axes, of which only the first one's size divides, are tried since backward asks whether there are several."""
    (op,) = run(here, AXES.replace("axes[:1]", counted), "MeanSquare").report.ops
    assert op.status.value == status, op.findings


SHRINK = """
class Shrink(PyLayer):
    @staticmethod
    def forward(ctx, x, threshold):
        if threshold.size != 1:
            raise ValueError("one threshold only")
        rest = abs(x.numpy()) - threshold.numpy().reshape(())
        ctx.shape, ctx.sign, ctx.on = threshold.numpy().shape, np.sign(x.numpy()), (rest > 0).astype(rest.dtype)
        return Tensor(ctx.sign * rest * ctx.on)

    @staticmethod
    def backward(ctx, dy):
        taken = dy.numpy() * ctx.on
        return Tensor(taken), Tensor(-(taken * ctx.sign).sum().reshape(ctx.shape))
"""


def test_ties_explain_a_slope_though_forward_jumps_on_their_other_side(here: Path) -> None:
    """Soft shrinkage with a threshold of 0, at 0: 0 and 1 are slopes beside it, and a threshold below 0 is a jump."""
    (op,) = run(here, SHRINK, "Shrink").report.ops
    assert op.status.value != "fail", op.findings


SEGMENTS = """
class Segments(PyLayer):
    @staticmethod
    def forward(ctx, x, ids, count=4):
        a, s = x.numpy(), ids.numpy()
        if a.ndim != 2 or s.shape != a.shape[:1] or (s.size and (s.min() < 0 or s.max() >= count)):
            raise ValueError("one number in range for each row")
        ctx.s, ctx.shape = s, a.shape
        return Tensor(np.stack([a[s == one].sum(axis=0) for one in range(count)]))

    @staticmethod
    def backward(ctx, dy):
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        for one, row in enumerate(dy.numpy()):
            dx[ctx.s == one] = 2 * row
        return Tensor(dx), None
"""


def test_labels_of_which_floats_change_nothing_are_whole_numbers(here: Path) -> None:
    """No float equals a label, so that the result was 0 whatever came in, and there was nothing to differentiate."""
    (op,) = run(here, SEGMENTS, "Segments").report.ops
    assert accused(op) == {("GC101", "x")}


def test_an_option_that_is_asked_whether_it_is_one_number_is_two_as_well(here: Path) -> None:
    """Of several axes backward sees the first."""
    source = AXES.replace("isinstance(ctx.axis, (tuple, list))", "not isinstance(ctx.axis, int)")
    (op,) = run(here, source, "MeanSquare").report.ops
    assert op.status.value == "fail", op.findings


TOP = """
class Top(PyLayer):
    @staticmethod
    def forward(ctx, x):
        a = x.numpy()
        least = np.sort(a, axis=-1)[..., -2:][..., :1]
        grown = np.where(a >= least, np.exp(a - a.max(axis=-1, keepdims=True)), 0.0)
        ctx.y = grown / grown.sum(axis=-1, keepdims=True)
        return Tensor(ctx.y.astype(a.dtype))

    @staticmethod
    def backward(ctx, dy):
        given = dy.numpy() * ctx.y
        return Tensor((given - ctx.y * given.sum(axis=-1, keepdims=True)).astype(dy.numpy().dtype))
"""


def test_any_finite_gradient_is_as_good_at_a_jump_that_the_search_came_upon(here: Path) -> None:
    """A softmax of the two largest jumps where three are equal: forward has no derivative there."""
    (op,) = run(here, TOP, "Top").report.ops
    assert op.status.value == "pass", op.checks


PICK = """
class Pick(PyLayer):
    @staticmethod
    def forward(ctx, x, labels):
        if x.ndim != 2 or labels.shape != x.shape[:1]:
            raise ValueError("x (N, C) and labels (N,)")
        ctx.labels, ctx.shape = labels.numpy().astype("int64"), x.shape
        if (ctx.labels < 0).any() or (ctx.labels >= x.shape[1]).any():
            raise IndexError("a label out of range")
        return Tensor(np.take_along_axis(x.numpy(), ctx.labels[:, None], 1)[:, 0] / 2)

    @staticmethod
    def backward(ctx, dy):
        dx = np.zeros(ctx.shape, dy.numpy().dtype)
        np.put_along_axis(dx, ctx.labels[:, None], dy.numpy()[:, None] * 7, 1)
        return Tensor(dx), None
"""


@pytest.mark.parametrize("seed", range(4))
def test_floats_that_are_cut_to_places_may_lie_in_the_array_by_chance(here: Path, seed: int) -> None:
    """Labels that were floats beside whole scores left nothing to compare."""
    (op,) = run(here, PICK, "Pick", seed=seed).report.ops
    assert accused(op) == {("GC101", "x")}


PLANE = """
class Plane(PyLayer):
    @staticmethod
    def forward(ctx, p, normal, offset):
        if p.ndim != 2 or p.shape[1] != 3 or list(normal.shape) != [3] or list(offset.shape) != [1]:
            raise ValueError("other shapes")
        ctx.p, ctx.normal = p.numpy(), normal.numpy()
        return Tensor((ctx.p * ctx.normal).sum(axis=1) + offset.numpy())

    @staticmethod
    def backward(ctx, dy):
        d = dy.numpy()[:, None]
        return Tensor(2 * d * ctx.normal), Tensor((d * ctx.p).sum(axis=0)), Tensor(d.sum(axis=0))
"""
PLACES = """
class Places(PyLayer):
    @staticmethod
    def forward(ctx, x, rows, columns):
        if x.ndim != 2 or rows.ndim != 1 or columns.shape != rows.shape:
            raise ValueError("other shapes")
        places, ctx.shape = rows.numpy() * x.shape[1] + columns.numpy(), x.shape
        ctx.places = places
        return Tensor(x.numpy().reshape(-1)[places])

    @staticmethod
    def backward(ctx, dy):
        dx = np.zeros(int(np.prod(ctx.shape)), dy.numpy().dtype)
        np.subtract.at(dx, ctx.places, dy.numpy())
        return Tensor(dx.reshape(ctx.shape)), None, None
"""


@pytest.mark.parametrize(("name", "given"), [("Plane", "p"), ("Places", "x")])
def test_fixed_sizes_and_places_of_two_inputs_are_found(here: Path, name: str, given: str) -> None:
    """Sizes 3 and 1 in one guard; rows and columns that are whole numbers only together."""
    (op,) = run(here, PLANE + PLACES, name).report.ops
    assert accused(op) == {("GC101", given)}


class Lin(PyLayer):
    """Takes long when it is called first; the gradient of b is wrong."""

    is_new = True

    @staticmethod
    def forward(ctx, x, b=None):
        if Lin.is_new:
            Lin.is_new = False
            time.sleep(1.5)
        ctx.has_b = b is not None
        return x * 2 + b if ctx.has_b else x * 2

    @staticmethod
    def backward(ctx, dy):
        return (2 * dy, 2 * dy) if ctx.has_b else 2 * dy


def test_what_a_first_call_loads_takes_no_time_from_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """What may be left out is given all the same, and its wrong gradient is found."""
    monkeypatch.setattr(pipeline, "FIRST_SECONDS", 0.5)
    (report,) = gradcheck(Lin, effort=0.05, select={"GC101"}).ops
    assert {item.input for item in report.findings} == {"b"}


class Vectors(PyLayer):
    """Takes vectors; its message names a dtype."""

    @staticmethod
    def forward(ctx, x):
        if x.ndim != 1:
            raise TypeError(f"a vector is needed, not {x.ndim} axes of dtype {x.dtype}")
        return x * 3

    @staticmethod
    def backward(ctx, dy):
        return dy * 3


def test_what_forward_takes_in_float64_too_is_checked_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though a search in float64 found nothing, and what was raised names dtypes."""
    first = from_search.first_cases
    monkeypatch.setattr(from_search, "first_cases", lambda made, *rest: [case for case in first(made, *rest) if made.starts_in == "float32"])
    (report,) = gradcheck(Vectors, effort=0.05, select={"GC101"}).ops
    assert not any("float32" in note for note in report.notes)


@pytest.mark.parametrize(("count", "is_said"), [(63, False), (64, True)])
def test_that_no_more_than_64_cases_are_drawn_is_said(here: Path, count: int, is_said: bool) -> None:
    """Nobody asks a generator for another one, which may have no end, or none that is quick."""
    cases = f"\n\ndef cases(rng):\n    for _ in range({count}):\n        yield {{'x': rng.normal(size=3)}}\n    1 / (64 - {count})\n"
    (here / "many.py").write_text(HEAD + TANH + cases)
    (report,) = run_targets(["many.py::Tanh"], QUICK).report.ops
    said = "no more than 64 cases are drawn of the cases function" in report.notes
    assert (report.status.value, said) == ("pass", is_said)


def test_a_forward_that_returns_nothing_is_shown_at_its_def(here: Path) -> None:
    """Not at a decorator."""
    (here / "nothing.py").write_text(HEAD + TANH.replace("        return y\n", "", 1))
    (report,) = run_targets(["nothing.py::Tanh"], QUICK).report.ops
    assert {(item.code, item.where.line) for item in report.findings} == {("GC144", 7)}


def test_what_makes_float64_is_said_in_paddles_words(here: Path) -> None:
    """A cast and what is made of numpy's arrays, not the functions of numpy."""
    wide = TANH.replace("np.tanh(x.numpy())", "np.tanh(x.numpy()).astype(np.float64)").replace("1 - y.numpy() ** 2)", "1 - y.numpy() ** 2).astype(np.float32)")
    (here / "wide.py").write_text(HEAD + wide)
    (report,) = run_targets([str(here / "wide.py::Tanh")], QUICK).report.ops
    (finding,) = [item for item in report.findings if item.code == "GC141"]
    assert "paddle.to_tensor(np.ones(3))" in finding.hint


def test_a_rounding_to_float32_on_the_way_is_named(here: Path) -> None:
    """Of a backward whose factor went through it, which is linear."""
    rounded = TANH.replace("(1 - y.numpy() ** 2)", "(1 - y.numpy() ** 2).astype(np.float32)")
    (here / "rounded.py").write_text(HEAD + rounded)
    (report,) = run_targets([str(here / "rounded.py::Tanh")], QUICK).report.ops
    (finding,) = [item for item in report.checks if item.status is Status.UNDECIDED]
    assert (finding.code, "as much as a rounding to float32 on the way" in finding.message) == ("GC101", True)
