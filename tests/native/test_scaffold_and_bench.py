"""Scaffolded C++ kernels compute what the Python kernels beside them do; bench measures; cache shows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from opkit.errors import UsageError
from opkit.formula import design
from opkit.native import Compiler
from opkit.native.cache import entries
from opkit.project import KINDS, load, parse_attr, scaffold, scaffold_formula
from opkit.project.loading import LoadedOps, with_kernels
from opkit.project.timing import timed
from tests.project.opdir import edit, write_op


def test_scaffolded_kernels_agree(tmp_path: Path, compiler: Compiler) -> None:
    """Both kernels of forward and of backward give the same; of the other kinds too (tests/campaigns/cpp_kinds.py)."""
    given = {"x": np.random.default_rng(1).normal(size=(4, 3)), "label": np.array([0, 2, 1, 2])}
    compare(load(write_op(tmp_path, kind="loss", attrs=["alpha:float=0.5"], cpp=True)), given)


def test_kernels_of_a_formula_agree(tmp_path: Path, compiler: Compiler) -> None:
    """Rows along an axis that an attribute names, values kept between passes, functions that C++ lacks, names of C++."""
    attrs = {"axis": 1, "new": 0.5}
    made = design("softmax(x * sigmoid(new * w), axis=axis) + lgamma(w) - maximum(x, new)", attrs)
    scaffold_formula("t", tmp_path, made, [parse_attr("axis:int=1"), parse_attr("new:double=0.5")], cpp=True)
    rng = np.random.default_rng(1)
    compare(load(tmp_path / "t"), {"x": rng.normal(size=(3, 4, 2)), "w": rng.uniform(0.5, 4, (3, 4, 2))})


#: Formulas whose rewritten forms call every helper that keeps them from overflowing or cancelling.
AT_ENDS = (
    "a = x / expm1(x); b = log(1 - exp(-x)); c = log((exp(x) + exp(-x)) / 2); d = 1 / (exp(x) - 1); e = exp(x) / (1 + exp(x))**2; g = 1 / cosh(x)",
    "y = log1p(exp(x)) + sin(x) / x; z = (exp(x) - 1) / x",
    "log(mean(exp(x), axis=-1))",
)


@pytest.mark.parametrize("text", AT_ENDS)
def test_kernels_of_a_formula_agree_at_the_ends(text: str, tmp_path: Path, compiler: Compiler) -> None:
    """In float32 and float64, where exp, its square and its quotient by x come to an end."""
    made = design(text, {})
    scaffold_formula("t", tmp_path, made, [], cpp=True)
    loaded = load(tmp_path / "t")
    for dtype in (np.float32, np.float64):
        ends = [point for end in (1e-9, 1e-4, 20, 90, 95, 300, 711, 800, 2e4) for point in (end, -end)]
        x = np.array([list(filter(made.regions["x"].holds, ends))], dtype)
        with np.errstate(all="ignore"):
            limits = np.finfo(dtype)
            compare(loaded, {"x": x}, (64 * float(limits.eps), float(limits.tiny)), list(made.outputs))


def compare(loaded: LoadedOps, given: dict[str, np.ndarray], room: tuple[float, float] = (1e-12, 1e-12), outputs: Sequence[str] = ("y",)) -> None:
    """Compare the kernels of forward and of backward with their twins."""
    python = with_kernels(loaded, None)
    rng = np.random.default_rng(0)

    def both(op: str) -> tuple[np.ndarray, ...]:
        names = [spec.name for spec in loaded.ops[op].compiled.inputs]
        results = []
        for ops in (loaded.ops, python.ops):
            bound = ops[op].bind({name: [given[name]] for name in names}, {})
            result = bound.opdef.kernel(*bound.inputs)
            results.append(result if isinstance(result, tuple) else (result,))
        assert type(loaded.ops[op].kernel.function).__name__ == "CppKernel"
        for one, other in zip(*results):
            np.testing.assert_allclose(one, other, rtol=room[0], atol=room[1])
        return results[0]

    for name, result in zip(outputs, both("t_forward"), strict=True):
        given |= {name: result, f"d{name}": rng.normal(size=result.shape).astype(result.dtype)}
    both("t_backward")


def test_every_kind_has_a_cpp_kernel(tmp_path: Path) -> None:
    """--cpp-kernel writes one more file for each kind with definitions, and refuses the others."""
    for kind in KINDS.values():
        if kind.has_spec:
            names = [path.name for path in scaffold(f"t_{kind.name}", tmp_path, kind.name, cpp=True)]
            assert f"t_{kind.name}_cpp_kernel.cpp" in names
        else:
            with pytest.raises(UsageError, match="one Python file"):
                scaffold("t", tmp_path, kind.name, cpp=True)


def test_timed_without_cpp(tmp_path: Path) -> None:
    """A plain op is measured over sizes beside an empty kernel and a copy."""
    rows = list(timed(load(write_op(tmp_path)), "t_forward", None))
    assert [row.elements for row in rows] == [4, 64, 1024, 16384, 262144, 1048576]
    assert all(set(row.seconds) == {"python", "empty", "copy"} for row in rows)
    assert rows[-1].seconds["python"] > rows[-1].seconds["empty"]


def test_a_kernel_that_raises_is_not_measured(tmp_path: Path) -> None:
    """What it says is said, not that nothing declares its inputs."""
    path = write_op(tmp_path)
    edit(path / "t_py_kernel.py", ("def forward(args):\n", "def forward(args):\n    raise ValueError('decoy')\n"))
    with pytest.raises(UsageError, match=r"takes no arrays that were tried; .*decoy"):
        list(timed(load(path), "t_forward", None))


def test_bench_on_the_command_line(tmp_path: Path, compiler: Compiler) -> None:
    """Bench prints JSON and writes a picture and a page; the cache lists the library that it built."""
    path = write_op(tmp_path, kind="loss", cpp=True)
    words = ["bench", str(path), "--format", "json", "--svg", str(tmp_path / "t.svg")]
    words += ["--report", f"html={tmp_path / 't.html'}"]
    done = subprocess.run([sys.executable, "-m", "opkit", *words], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    (row,) = found["seconds_per_call"]
    assert {"python", "cpp", "empty", "copy"} <= set(row)
    assert (tmp_path / "t.svg").read_text().startswith("<svg")
    page = (tmp_path / "t.html").read_text()
    assert "<svg" in page
    assert f"<td>{row['cpp'] * 1e6:,.2f}</td>" in page
    assert any(item.sources == (str(path / "t_cpp_kernel.cpp"),) for item in entries())
