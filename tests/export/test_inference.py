"""Facts about inference as code: it gives what the definition gives, and refuses what the definition refuses."""

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from opkit.diagnostics import SourceText
from opkit.errors import InferError
from opkit.export.inference import inference_code
from opkit.export.model import ExportError, ExportKernel
from opkit.export.signature import names_of
from opkit.ir import TensorDesc
from opkit.project.loading import load
from opkit.spec import compile_spec
from tests.corpus.model import write
from tests.corpus.ops import OPS
from tests.export.ops import write_directory

SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 3), (3, 1), (2, 4, 6), (2, 3, 4, 4)]
SOME = (
    "soft_max",
    "sum_axis",
    "mat_mul",
    "broadcast_times",
    "max_pool",
    "axes_moved",
    "repeat_each",
    "halves",
    "checked_single",
)


def compiled(kernel: ExportKernel) -> Any:
    """Return the emitted function; dtypes are numpy's names."""
    text, helpers = inference_code(kernel, names_of(kernel), "torch")
    dtypes = SimpleNamespace(float32="float32", float64="float64", int32="int32", int64="int64")
    space: dict[str, Any] = {"math": math, "torch": dtypes}
    for part in (*helpers.values(), text):
        exec(part, space)
    return space[f"_infer_{kernel.name}"]


@pytest.mark.parametrize("name", SOME)
def test_emitted_inference_agrees_with_the_definition(tmp_path: Path, name: str) -> None:
    """On every combination of a few shapes and dtypes, both accept with one result or both refuse."""
    loaded = load(write(OPS[name], tmp_path))
    op = loaded.ops[f"{name}_forward"]
    assert op.compiled is not None
    kernel = ExportKernel(op, op.compiled)
    function = compiled(kernel)
    rng = np.random.default_rng(0)
    accepted = refused = 0
    for _ in range(60):
        chosen = [
            TensorDesc(SHAPES[rng.integers(len(SHAPES))], ["float32", "float64"][rng.integers(2)])
            for _ in kernel.inputs
        ]
        attrs = {spec.name: spec.default for spec in kernel.attrs}
        try:
            found = op.compiled.infer({arg.name: [desc] for arg, desc in zip(kernel.inputs, chosen)}, attrs)
        except InferError:
            refused += 1
            with pytest.raises((ValueError, IndexError)):
                function(*chosen, *attrs.values())
            continue
        accepted += 1
        expected = [(found[arg.name][0].shape, found[arg.name][0].dtype) for arg in kernel.outputs]
        assert function(*chosen, *attrs.values()) == expected
    assert accepted
    assert refused


@pytest.mark.parametrize(
    ("name", "op", "given", "attrs", "expected"),
    [
        ("twins", "twins_windows", [(2, 7)], (2, 2, "slide"), [((2, 3), "float64"), ((1,), "int64")]),
        ("twins", "twins_windows", [(5,)], (2, 1, "whole"), [((5,), "float64"), ((1,), "int64")]),
        ("twins", "twins_windows", [(5,)], (2, 1, "slide"), "there must be 2 axes"),
        ("twins", "twins_windows", [(2, 7)], (2, 0, "slide"), "step must be positive"),
        ("joined", "joined_forward", [[(2, 3), (4, 3)]], (0,), [((6, 3), "float64")]),
        ("joined", "joined_forward", [[(2, 3), (4, 3)]], (1,), "failed"),
        ("joined", "joined_forward", [[(2, 3), (3,)]], (0,), "all must have as many axes"),
        ("weighted", "weighted_forward", [(2, 3), None], (), [((2, 3), "float64")]),
        ("weighted", "weighted_forward", [(2, 3), (3,)], (), "failed"),
    ],
)
def test_helpers_early_returns_lists_and_options(
    tmp_path: Path, name: str, op: str, given: list[Any], attrs: tuple[Any, ...], expected: Any
) -> None:
    """Functions of the definition file, early returns, checks of attributes, variadic and optional inputs are emitted."""
    loaded = load(write_directory(name, tmp_path)).ops[op]
    assert loaded.compiled is not None
    function = compiled(ExportKernel(loaded, loaded.compiled))
    made = [_described(item) for item in given]
    if isinstance(expected, str):
        with pytest.raises(ValueError, match=expected):
            function(*made, *attrs)
    else:
        assert function(*made, *attrs) == expected


def _described(item: Any) -> Any:
    if isinstance(item, list):
        return [TensorDesc(shape, "float64") for shape in item]
    return None if item is None else TensorDesc(item, "float64")


def test_a_refusal_keeps_the_check_and_its_values(tmp_path: Path) -> None:
    """The message of the file is the definition's check with both sides."""
    loaded = load(write(OPS["mat_mul"], tmp_path))
    op = loaded.ops["mat_mul_forward"]
    assert op.compiled is not None
    function = compiled(ExportKernel(op, op.compiled))
    with pytest.raises(ValueError, match=r"CHECK_EQ_OR_RETURN\(a->At\(1\), b->At\(0\)\) failed \(3 vs 4\)"):
        function(TensorDesc((2, 3), "float32"), TensorDesc((4, 2), "float32"))


AXIS = """REGISTER_USER_OP("t_forward").Input("x").Output("y").Attr<int32_t>("axis", 0)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      DimVector dims = ctx->Shape4ArgNameAndIndex("x", 0)->dim_vec();
      CALL;
      *ctx->Shape4ArgNameAndIndex("y", 0) = Shape(dims);
      return Maybe<void>::Ok();
    });"""


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        ('dims.insert(dims.begin() + ctx->Attr<int32_t>("axis"), 5)', (2, 5, 3)),
        ("dims.insert(dims.end(), 5)", (2, 3, 5)),
        ('dims.erase(dims.begin() + ctx->Attr<int32_t>("axis"))', (2,)),
    ],
)
def test_an_axis_is_inserted_or_erased(call: str, shape: tuple[int, ...]) -> None:
    """What a definition does to a list of sizes by iterators, the file does by places."""
    result = compile_spec(SourceText(AXIS.replace("CALL", call), "t_cpp_def.cpp"))
    kernel = ExportKernel(SimpleNamespace(), result.ops["t_forward"])  # type: ignore[arg-type]
    assert compiled(kernel)(TensorDesc((2, 3), "float32"), 1)[0][0] == shape


SHAPE = """REGISTER_USER_OP("t_forward").Input("x").Output("y").Attr<int32_t>("axis", 0)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      const Shape& x = *ctx->Shape4ArgNameAndIndex("x", 0);
      Shape* y = ctx->Shape4ArgNameAndIndex("y", 0);
      DONE;
      return Maybe<void>::Ok();
    });
"""
WITH_ONE = "Shape with_one(const Shape& x, int64_t axis) { Shape one = x; one.Set(axis, 1); return one; }\n"
CHANGE = "void change(Shape* shape) { shape->Set(0, 1); }\n"


def shape_op(done: str, before: str = "") -> ExportKernel:
    """Return an op whose shape function does something to the shapes x and y."""
    result = compile_spec(SourceText(SHAPE.replace("DONE", done) + before, "t_cpp_def.cpp"))
    return ExportKernel(SimpleNamespace(), result.ops["t_forward"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("done", "before", "shape"),
    [
        ("Shape s = x; s.Set(x.NumAxes() - 1, 1); *y = s", "", (2, 1)),
        ("Shape s = x; *y = s; s.Set(0, 7)", "", (2, 3)),
        ("*y = x; Shape s = *y; s.Set(0, 7)", "", (2, 3)),
        ("*y = x; y->Set(0, x.At(1) * 2)", "", (6, 3)),
        ("y->Set(1, 5)", "", (2, 5)),
        ("*y = x; if (x.NumAxes() > 1) { y->Set(1, 1); return Maybe<void>::Ok(); } y->Set(0, 9)", "", (2, 1)),
        ("Shape s = x; FOR_RANGE(int64_t, i, 0, s.NumAxes()) { s.Set(i, s.At(i) + i); } *y = s", "", (2, 4)),
        ("Shape s = x; Shape r = s; r.Set(0, 7); *y = s", "", (2, 3)),
        ("Shape s = CreateReducedShape(x, {0}); s.Set(1, 4); *y = s", "", (1, 4)),
        ("Shape s = with_one(x, 0); s.Set(1, 8); *y = s", WITH_ONE, (1, 8)),
        ("auto* t = ctx->TensorDesc4ArgNameAndIndex(\"y\", 0); t->mut_shape()->Set(0, 7)", "", (7, 3)),
        ("Shape s = ctx->InputShape(\"x\", 0); s.Set(0, 7); *ctx->OutputShape(\"y\", 0) = s", "", (7, 3)),
    ],
)
def test_a_size_of_a_shape_is_set(done: str, before: str, shape: tuple[int, ...]) -> None:
    """The variable is another shape from then on, and what was copied from it before, or it from, is as it was."""
    kernel = shape_op(done, before)
    given = TensorDesc((2, 3), "float32")
    assert kernel.compiled.infer({"x": [given]}, {"axis": 0})["y"][0].shape == shape
    assert compiled(kernel)(given, 0)[0][0] == shape
    assert given.shape == (2, 3)


def test_a_size_of_an_axis_that_is_not_there() -> None:
    """It is refused, as by the definition."""
    kernel = shape_op("*y = x; y->Set(2, 1)")
    given = TensorDesc((2, 3), "float32")
    with pytest.raises(InferError, match="axis 2 is out of range"):
        kernel.compiled.infer({"x": [given]}, {"axis": 0})
    with pytest.raises(IndexError, match="axis 2 is out of range"):
        compiled(kernel)(given, 0)


def test_functions_that_call_functions() -> None:
    """A function of the definition file goes along with those that it calls."""
    before = "int64_t more(int64_t n) { return n + 1; }\nint64_t most(int64_t n) { return more(n) * 2; }\n"
    assert compiled(shape_op("*y = Shape({most(2)})", before))(TensorDesc((2, 3), "float32"), 0)[0][0] == (6,)


@pytest.mark.parametrize(
    ("done", "said", "line", "column"),
    [
        ("Shape s = x; Shape& r = s; r.Set(0, 1); *y = s", "r.Set(0, 1)", 5, 34),
        ("Shape s = x; const Shape* r = &s; s.Set(0, 1); *y = *r", "s.Set(0, 1)", 5, 41),
        ("Shape s = x; Shape t = x; (x.NumAxes() > 1 ? s : t).Set(0, 1); *y = s", "(x.NumAxes() > 1 ? s : t).Set(0, 1)", 5, 33),
        ("Shape s = x; Shape t = x; Shape* r = x.At(0) ? &s : &t; s.Set(0, 1); *y = *r", "s.Set(0, 1)", 5, 63),
        ("std::vector<Shape> v; v.push_back(x); v[0].Set(0, 1); *y = v[0]", "v[0].Set(0, 1)", 5, 45),
        ("Shape s = x; change(&s); *y = s", "shape->Set(0, 1)", 8, 29),
        ("int64_t n = 1; int64_t* p = &n; *p = 2; *y = Shape({n})", "*p = 2", 5, 39),
        ("DimVector d = x.dim_vec(); d.resize(3); *y = Shape(d)", "d.resize(3)", 5, 34),
        ("if (x.Count(1) > 2) { *y = x; }", "if (x.Count(1) > 2)", 5, 7),
        ("for (int64_t i = 0; i < x.Count(0); ++i) { *y = x; }", "for (int64_t i = 0; i < x.Count(0); ++i)", 5, 7),
        ("*y = Shape({x\n  .Count(0)})", "*y = Shape({x .Count(0)})", 5, 7),
        ("auto f = [&](int64_t n) { return n + 1; }; *y = Shape({f(2)})", "auto f = [&](int64_t n) { return n + 1; }", 5, 7),
    ],
)
def test_what_is_not_supported_is_quoted(done: str, said: str, line: int, column: int) -> None:
    """The message has the statement as the definition spells it, of a loop or branch its head, and where it stands."""
    with pytest.raises(ExportError) as caught:
        compiled(shape_op(done, CHANGE))
    assert caught.value.message == f"the definition of 't_forward' uses {said!r}, which inference in an exported file does not support"
    where = caught.value.where
    assert where is not None
    assert (where.file, where.line, where.col) == ("t_cpp_def.cpp", line, column)
