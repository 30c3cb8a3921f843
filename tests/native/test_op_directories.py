"""C++ kernels of op directories: where they run, what is said where they cannot, and what gradcheck finds."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

import opkit.oneflow as flow
from opkit import gradcheck
from opkit.checker import Report
from opkit.errors import KernelError
from opkit.native import Compiler
from opkit.oneflow.session import session
from opkit.project import Library, load, op_directory_of
from opkit.project.loading import assemble
from opkit.settings import settings
from opkit.verify.subjects.cpp_twins import _refuse_stray
from tests.native.conftest import use_compiler
from tests.project.opdir import edit, write_op

pytestmark = pytest.mark.xdist_group("C++ op directories")  # one report on all faults

LOOPS = """#include <cmath>
#include "oneflow/core/framework/framework.h"
namespace oneflow {
namespace {
template<typename T>
class Forward final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const T* in = x->dptr<T>();
    T* out = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();
    FOR_RANGE(int64_t, i, 0, x->shape().elem_cnt()) { out[i] = std::max(in[i], T(0)) + std::log1p(std::exp(-std::abs(in[i]))); }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
template<typename T>
class Backward final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const T* in = ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>();
    const T* dy = ctx->Tensor4ArgNameAndIndex("dy", 0)->dptr<T>();
    user_op::Tensor* dx = ctx->Tensor4ArgNameAndIndex("dx", 0);
    FOR_RANGE(int64_t, i, 0, dx->shape().elem_cnt()) {
      const T e = std::exp(-std::abs(in[i]));
      dx->mut_dptr<T>()[i] = dy[i] * (in[i] >= T(0) ? 1 : e) / (1 + e);
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
#define REGISTER_BOTH(T)                                                                                     \\
  REGISTER_USER_KERNEL("t_forward").SetCreateFn<Forward<T>>().SetIsMatchedHob(                               \\
      (user_op::HobDeviceTag() == "cpu") & (user_op::HobDataType("x", 0) == GetDataType<T>::value));         \\
  REGISTER_USER_KERNEL("t_backward").SetCreateFn<Backward<T>>().SetIsMatchedHob(                             \\
      (user_op::HobDeviceTag() == "cpu") & (user_op::HobDataType("x", 0) == GetDataType<T>::value));
REGISTER_BOTH(float)
REGISTER_BOTH(double)
}  // namespace
}  // namespace oneflow
"""


@pytest.fixture
def op(tmp_path: Path) -> Path:
    """Return an op directory with kernels in both languages."""
    path = write_op(tmp_path)
    (path / "t_cpp_kernel.cpp").write_text(LOOPS)
    return path


def trained(path: Path, *parts: str) -> tuple[np.ndarray, list[str]]:
    """Return an output and a gradient of a job with the op, and what it noted."""
    flow.clear_default_session()
    session().library = Library()
    notes: list[str] = []
    held: list[np.ndarray] = []
    with settings(on_note=notes.append):
        module = flow.experimental.custom_op_module("t", str(path.parent)).py_api().cpp_def()
        for part in parts:
            getattr(module, part)()
        module.build_load()

        @flow.global_function(type="train")
        def job() -> flow.typing.Numpy:
            w = flow.get_variable("w", shape=(2, 3), initializer=flow.constant_initializer(0.5))
            y = module.api.t_forward(w)
            flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [1.0]), momentum=0).minimize(y)
            flow.watch_diff(w, lambda grad: held.append(grad.numpy()))
            return y

        result = job()
    return np.stack([result, held[0]]), notes


def test_jobs_train_through_cpp_kernels(op: Path, compiler: Compiler) -> None:
    """cpp_kernel() runs the C++ kernels in a train job, with the results of the Python kernels."""
    (op / "t_py_kernel.py").rename(op / "kept.py")
    cpp, _ = trained(op, "cpp_kernel")
    (op / "kept.py").rename(op / "t_py_kernel.py")
    (op / "t_cpp_kernel.cpp").write_text("this is not C++")
    python, _ = trained(op, "py_kernel")
    np.testing.assert_allclose(cpp, python, rtol=1e-6)


def test_no_compiler(op: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a compiler the Python kernels run and a note says so; without these too, one error says what to install."""
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    result, notes = trained(op, "cpp_kernel", "py_kernel")
    assert np.isfinite(result).all()
    assert "no C++ compiler; the Python kernels run" in notes[0]
    with settings(kernel="cpp"):
        assert [item.code for item in assemble(op_directory_of(op)).diagnostics if item.is_error] == ["PROJ032"]
    (op / "t_py_kernel.py").unlink()
    (finding,) = [item for item in assemble(op_directory_of(op)).diagnostics if item.is_error and not item.subject]
    assert finding.code == "PROJ032"
    assert "install" in finding.help


def test_an_op_type_may_stay_in_python(op: Path, compiler: Compiler) -> None:
    """An op type that no C++ file registers keeps its Python kernel; one that nothing defines is named."""
    edit(op / "t_cpp_kernel.cpp", ('REGISTER_USER_KERNEL("t_backward")', 'REGISTER_USER_KERNEL("t_backwards")'))
    loaded = load(op)
    kinds = {name: type(item.kernel.function).__name__ for name, item in loaded.ops.items() if item.kernel}
    assert kinds == {"t_forward": "CppKernel", "t_backward": "function"}
    (finding,) = [item for item in loaded.diagnostics if item.code == "PROJ033"]
    assert "'t_backward'" in finding.help


def test_load_library_compiles_the_sources_beside_it(op: Path, tmp_path: Path, compiler: Compiler) -> None:
    """flow.config.load_library of a library that is not there loads definitions and kernels, in one file or in two."""
    definition = (op / "t_cpp_def.cpp").read_text()
    for name, files in {"two": {"op.cpp": definition, "k.cpp": LOOPS}, "one": {"both.cpp": definition + LOOPS}}.items():
        folder = tmp_path / name
        folder.mkdir()
        for file, text in files.items():
            (folder / file).write_text(text)
        flow.clear_default_session()
        session().library = Library()
        notes: list[str] = []
        with settings(on_note=notes.append):
            flow.config.load_library(str(folder / "final.so"))
        assert "t_forward, t_backward compiled" in notes[0]
        build = flow.user_op_builder("a").Op("t_forward").Input("x", [np.zeros(2, "float32")]).Output("y").Build()
        np.testing.assert_allclose(np.asarray(build.InferAndTryRun().SoleOutputBlob()), np.log([2, 2]), rtol=1e-6)


#: {op: changes of its C++ kernels}; all are checked in one run.
FAULTS = {
    "right": (),
    "differs": (
        ("std::log1p(std::exp(-std::abs(in[i])))", "std::log1p(std::exp(-std::abs(in[i]))) * T(1.001)"),
        ("T(0) ? 1 : e) / (1 + e);", "T(0) ? 1 : e) / (1 + e);\n      dx->mut_dptr<T>()[dx->shape().elem_cnt()] = 1;"),
    ),
    "steps": (("std::log1p(std::exp(-std::abs(in[i])))", "std::log1p(std::exp(-std::abs(in[i]))) + T(in[i] > T(50))"),),
    "dies": (("    T* out =", "    if (x->shape().elem_cnt() > 2) { std::abort(); }\n    T* out ="),),
    "leaves": (("    T* out =", "    if (x->shape().elem_cnt() > 2) { std::exit(0); }\n    T* out ="),),
    "strays": (("    FOR_RANGE(int64_t, i, 0, dx", "    if (dx->shape().elem_cnt() == 5) { *(volatile char*)8 = 0; }\n    FOR_RANGE(int64_t, i, 0, dx"),),
}  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Iterator[Report]:
    """Return the report on one op for each fault, and on one without."""
    with pytest.MonkeyPatch.context() as patch:
        use_compiler(patch, shared_cache)
        folder = tmp_path_factory.mktemp("ops")
        for name, changes in FAULTS.items():
            path = write_op(folder, name)
            (path / f"{name}_cpp_kernel.cpp").write_text(LOOPS.replace('"t_', f'"{name}_'))
            edit(path / f"{name}_cpp_kernel.cpp", *changes)
            if name in ("dies", "leaves"):
                (path / f"{name}_py_kernel.py").unlink()
            if name not in ("right", "steps"):
                (path / f"{name}_cases.py").write_text(THREE_CASES if name == "strays" else ONE_CASE)
        yield gradcheck(str(folder), replay=False, effort=0.02)


ONE_CASE = """import numpy as np


def cases(rng):
    yield {"x": np.array([0.5, -1.25, 2.0])}
"""
THREE_CASES = """def cases(rng):
    for shape in ((3,), (2, 4), (5,)):
        yield {"x": rng.standard_normal(shape)}
"""


def test_gradcheck_holds_both_together(report: Report) -> None:
    """A right pair passes, each under its name."""
    found = {item.op: item.status.value for item in report.ops if item.op.startswith("right")}
    assert found == {"right_forward": "pass", "right_forward (C++)": "pass"}


def test_passes_are_confirmed_with_their_own_kernels(report: Report) -> None:
    """An ordinary process runs the kernels that were checked: the Python kernel of an op whose C++ kernel is wrong passes."""
    found = {item.op: {one.code: one.status.value for one in item.checks} for item in report.ops}
    assert found["right_forward (C++)"]["GC199"] == "pass"
    assert found["differs_forward"]["GC199"] == "pass"


def test_nan_is_no_end_of_the_domain(tmp_path: Path) -> None:
    """A C++ result that is NaN where the Python kernel's is a number is an error, not an input that the op does not take."""
    op = load(write_op(tmp_path)).ops["t_forward"]
    x = np.array([0.5, 2.0])
    for stray, is_refused in (([0.97, np.nan], True), ([0.97, np.inf], True), ([0.97, 2.12], False)):
        with pytest.raises(KernelError, match=r"at \[1\], the Python kernel 2\.1") if is_refused else nullcontext():
            _refuse_stray(op.kernel, op.compiled, (x,), {}, [np.array(stray)])


@pytest.mark.parametrize(
    ("op", "code"), [("differs", "GC221"), ("differs", "GC222"), ("steps", "GC221"), ("dies", "GC191"), ("leaves", "GC193")]
)
def test_gradcheck_finds(report: Report, op: str, code: str) -> None:
    """A kernel that differs, also far from 0 alone, writes past its output, dies or leaves is found, under its code and with a case."""
    cpp = [item for item in report.ops if item.op.startswith(f"{op}_forward")][-1]
    found = [item for item in cpp.checks if item.status.value in ("fail", "error")]
    assert code in {item.code for item in found}
    assert all(item.case for item in found)


def test_a_fatal_call_costs_a_case(report: Report) -> None:
    """A kernel that writes where nothing is ends its process; the twin in Python is judged beside it, and passes."""
    found = {item.op: item for item in report.ops if item.op.startswith("strays")}
    assert {name: item.status.value for name, item in found.items()} == {"strays_forward": "pass", "strays_forward (C++)": "fail"}
    (death,) = [item for item in found["strays_forward (C++)"].checks if item.code == "GC191"]
    assert "SIGSEGV" in death.message


def test_findings_are_shown_where_the_kernel_computes(report: Report) -> None:
    """Of forward and of backward each its own class, not the macro that registers both."""
    (cpp,) = (item for item in report.ops if item.op == "differs_forward (C++)")
    lines = {item.where.line for item in cpp.checks if item.code in ("GC221", "GC222") and item.where is not None}
    computes = [number for number, line in enumerate(LOOPS.splitlines(), 1) if "void Compute" in line]
    assert lines == set(computes)


def test_a_directory_without_cpp_knows_no_compiler(tmp_path: Path) -> None:
    """Loading a plain op directory imports nothing of opkit.native."""
    write_op(tmp_path)
    program = (
        "import sys, opkit.project\n"
        f"opkit.project.load({str(tmp_path / 't')!r})\n"
        "print(sorted(name for name in sys.modules if name.startswith('opkit.native')), 'subprocess' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("[]")
