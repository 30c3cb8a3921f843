"""PyLayers, pairs of functions and op directories whose cases are of half precision: checked there where they take nothing else, and there too where they do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from opkit.checker import OpReport, Options, Status, check
from opkit.eager import PyLayer, Tensor
from opkit.project import assemble, op_directory_of
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.from_cases import of_examples
from opkit.verify.subjects.input_formats import formats_in, formats_tried
from opkit.verify.subjects.pair import pair
from opkit.verify.subjects.pylayer import layer_subject
from tests.corpus.loading import checkables_of
from tests.verify.opdirs import SQUARE, make_op


def layer(factor: float = 1.0, term: float = 1.0, *, only: bool = True, half: float = 1.0) -> type:
    """Return a gate of SiLU that takes float16 alone, or float32 too, with errors planted in its gradient."""

    class Gate(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            if only and x.numpy().dtype != np.float16:
                raise TypeError("this kernel is for float16")
            ctx.kept = x.numpy(), w.numpy()
            a, b = (item.astype(np.float32) for item in ctx.kept)
            return Tensor((a / (1 + np.exp(-a)) * b).astype(ctx.kept[0].dtype))

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            dtype = ctx.kept[0].dtype
            a, b, d = (item.astype(np.float32) for item in (*ctx.kept, dy.numpy()))
            s = 1 / (1 + np.exp(-a))
            scale = factor * (half if dtype == np.float16 else 1.0)
            dx, dw = scale * d * b * (s + term * a * s * (1 - s)), (d * a * s).sum(0)
            return Tensor(dx.astype(dtype)), Tensor(dw.astype(dtype))

    return Gate


def cases(rng: np.random.Generator) -> Iterable[dict[str, Any]]:
    """Yield inputs of float16."""
    for columns in (8, 13):
        made = {"x": rng.standard_normal((4, columns)), "w": rng.standard_normal(columns)}
        yield {name: array.astype(np.float16) for name, array in made.items()}


def reference(x: Any, w: Any) -> Any:
    """Return what the gate computes."""
    return x / (1 + np.exp(-x)) * w


def report(made: type, slow: Any = None) -> OpReport:
    """Return what a check says."""
    return check(of_examples(layer_subject(made), Declared(reference=slow), "Gate", cases=cases), Options(effort=0.3))


@pytest.mark.parametrize("slow", [None, reference])
@pytest.mark.parametrize(
    ("factor", "term", "code"), [(1.0, 1.0, ""), (1.1, 1.0, "F"), (2.0, 1.0, "F"), (1.0, 0.0, "F")]
)
def test_a_layer_of_float16_alone_is_checked_in_it(factor: float, term: float, code: str, slow: Any) -> None:
    """Along lines, or against a reference; a refused float64 is no finding."""
    found = report(layer(factor, term), slow)
    assert found.status is (Status.FAIL if code else Status.PASS)
    codes = {item.code for item in found.checks if item.status is Status.FAIL}
    assert codes == ({"GC108" if slow else "GC102"} if code else set())


@pytest.mark.parametrize("slow", [None, reference])
@pytest.mark.parametrize(("half", "code"), [(1.0, None), (1.1, "GC207")])
def test_cases_of_float16_are_checked_in_float32_and_in_float16(half: float, code: str | None, slow: Any) -> None:
    """Digits of float32 show the derivative; what float16 alone gives is compared with it, or with the reference."""
    found = report(layer(only=False, half=half), slow)
    codes = {item.code for item in found.checks if item.status is Status.FAIL}
    assert codes == (set() if code is None else {"GC108" if slow else code})
    assert code or found.status is Status.PASS


def test_the_formats_of_an_example_are_tried_first() -> None:
    """Mixed ones as they are, then each half alone, the one that the example has before the other."""
    example = {"x": np.zeros(2, np.float32), "w": [np.zeros(2, np.float16)], "n": np.zeros(2, np.int64), "beta": 0.5}
    given = formats_in(example)
    assert given == {"x": "float32", "w": "float16"}
    tried = list(formats_tried(given, frozenset({"x", "w", "n"})))
    assert tried[0] == {"x": "float32", "w": "float16", "n": "float16"}
    assert [set(item.values()) for item in tried[1:3]] == [{"float16"}, {"bfloat16"}]
    assert len(tried) == 1 + 2 + 2 * (2**3 - 2)


def halves(dtype: str, factor: float, *, only: bool) -> OpReport:
    """Return the report of a pair of functions whose cases are of half precision, wrong by a factor there."""
    made = np.dtype(dtype if dtype == "float16" else pytest.importorskip("ml_dtypes").bfloat16)

    def forward(x: Any) -> Any:
        if only and x.dtype != made:
            raise TypeError("half precision alone")
        return np.tanh(x.astype(np.float32)).astype(x.dtype)

    def backward(x: Any, dy: Any) -> Any:
        wide = factor * (1 - np.tanh(x.astype(np.float32)) ** 2) * dy.astype(np.float32)
        return wide.astype(x.dtype)

    def drawn(rng: np.random.Generator) -> Iterable[dict[str, Any]]:
        yield {"x": rng.standard_normal((4, 9)).astype(made)}

    return check(pair(forward, backward, cases=drawn), Options(effort=0.3))


@pytest.mark.parametrize("dtype", ["float16", pytest.param("bfloat16", marks=pytest.mark.peer)])
@pytest.mark.parametrize("only", [True, False])
@pytest.mark.parametrize(("factor", "status"), [(1.0, Status.PASS), (2.0, Status.FAIL)])
def test_a_pair_of_functions_of_half_precision(dtype: str, factor: float, status: Status, only: bool) -> None:
    """In numpy's float16, and in the bfloat16 of ml_dtypes."""
    found = halves(dtype, factor, only=only)
    codes = {item.code for item in found.checks if item.status is Status.FAIL}
    assert found.status is status
    assert codes == (set() if status is Status.PASS else {"GC102" if only else "GC101"})


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("2 * x", "", None),
        ("2 * x", "2.25 * x", "GC102"),
        ("return x * x", "return (x * x).astype(np.float32)", "GC180"),
        ("2 * x * dy", "(2 * x * dy).astype(np.float32)", "GC148"),
    ],
)
def test_a_directory_whose_definition_takes_float16_alone(here: Path, old: str, new: str, code: str | None) -> None:
    """Its cases say so; what its kernels return has the dtypes that it infers."""
    cases = "def cases(rng):\n    yield {'x': rng.standard_normal((3, 8)).astype('float16')}\n"
    assert old in SQUARE
    folder = make_op(here, "one", SQUARE.replace(old, new or old), cases)
    definition = folder / "one_cpp_def.cpp"
    only = 'CHECK_OR_RETURN(*ctx->Dtype4ArgNameAndIndex("x", 0) == DataType::kFloat16);\n      *ctx->Shape4Arg'
    definition.write_text(definition.read_text().replace("*ctx->Shape4Arg", only, 1))
    loaded = assemble(op_directory_of(folder))
    (op,) = checkables_of(loaded, loaded.cases())
    found = check(op, Options(effort=0.3))
    codes = {item.code for item in found.checks if item.status is Status.FAIL}
    assert op.format == "float16"
    assert code in codes if code else found.status is Status.PASS, found
