"""Building: the cache serves what has not changed, and every trouble is one clear finding."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from opkit.errors import UsageError
from opkit.native import Compiler, build, cache_folder, find_compiler
from opkit.native.cache import entries, prune
from opkit.native.diagnosing import findings_of
from tests.native.conftest import use_compiler

KERNEL = """#include "oneflow/core/framework/framework.h"
#include "factor.h"
namespace oneflow {
struct Twice final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>()[0] = FACTOR;
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("twice").SetCreateFn<Twice>().SetIsMatchedHob(user_op::HobTrue());
}  // namespace oneflow
"""


def write(folder: Path, text: str = KERNEL, header: str = "#define FACTOR 2\n") -> Path:
    """Write a kernel and its header."""
    (folder / "factor.h").write_text(header)
    (folder / "k.cpp").write_text(text)
    return folder / "k.cpp"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> tuple[Path, Path]:
    """Return a kernel's source and its library, which tests share."""
    with pytest.MonkeyPatch.context() as patch:
        file = write(tmp_path_factory.mktemp("made"))
        library = build([file], use_compiler(patch, shared_cache)).library
        assert library is not None
        return file, library


def test_the_cache_knows_sources_and_headers(compiler: Compiler, tmp_path: Path) -> None:
    """A second build takes no time; a change of a header makes another one; nothing is written beside the sources."""
    file = write(tmp_path)
    first = build([file], compiler)
    assert first.library is not None
    assert build([file], compiler).seconds == 0
    (tmp_path / "factor.h").write_text("#define FACTOR 3\n")
    again = build([file], compiler)
    assert again.seconds > 0
    assert sorted(os.listdir(tmp_path)) == ["factor.h", "k.cpp"]
    assert any(item.sources == (str(file),) for item in entries())


def test_an_error_is_shown_at_the_users_line(compiler: Compiler, tmp_path: Path) -> None:
    """An error of a kernel, of a header of its own and of a template is one finding each, at the user's line."""
    built = build([write(tmp_path, KERNEL.replace("= FACTOR", "= factor_"))], compiler)
    (finding,) = built.diagnostics
    assert built.library is None
    assert (finding.code, finding.span.line, finding.span.col) == ("PROJ030", 6, 65)
    assert "factor_" in finding.message
    built = build([write(tmp_path, header="#define FACTOR 2\nint broken(\n")], compiler)
    assert built.diagnostics[0].span.path.endswith(("factor.h", "k.cpp"))
    wrong = KERNEL.replace("SetCreateFn<Twice>", "SetCreateFn<std::string>")
    built = build([write(tmp_path, wrong)], compiler)
    assert (built.diagnostics[0].span.path, built.diagnostics[0].span.line) == (str(tmp_path / "k.cpp"), 10)


def test_what_is_not_defined_is_found(compiler: Compiler, tmp_path: Path) -> None:
    """A function without a definition is a finding of the build, not of the first call."""
    built = build([write(tmp_path, KERNEL.replace("= FACTOR", "= missing()"), "float missing();\n")], compiler)
    assert "missing() is declared and not defined" in built.diagnostics[0].message


def test_prune_removes_what_was_not_used(
    made: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was last used before a time is removed; the rest stays."""
    library = made[1]
    monkeypatch.setenv("OPKIT_CACHE", str(tmp_path / "own"))
    own = cache_folder()
    own.mkdir(parents=True)
    shutil.copy(library, own)
    shutil.copy(library.with_suffix(".json"), own)
    assert prune(3600) == []
    assert [item.key for item in prune(0)] == [library.stem]
    assert list(own.iterdir()) == []


def test_cxx_names_the_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """CXX and CXXFLAGS are heeded; a compiler that is not there is an error, and none at all is None."""
    monkeypatch.setenv("CXX", "nothing-like-it -m64")
    with pytest.raises(UsageError, match="nothing-like-it"):
        find_compiler()
    monkeypatch.setenv("CXX", f"'{sys.executable}' g++")
    monkeypatch.setenv("CXXFLAGS", "-DA='b c'")
    found = find_compiler()
    assert found == Compiler((sys.executable, "g++"), ("-DA=b c",))
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_compiler() is None


def test_what_follows_from_an_error_of_a_line_is_left_out() -> None:
    """A misspelt name before a template's argument is three errors to g++."""
    first = "k.cpp:5:9: error: 'class Context' has no member named 'Atr'; did you mean 'Attr'?\n"
    others = "k.cpp:5:13: error: expected primary-expression before 'float'\nk.cpp:5:13: error: expected ')' before 'float'\n"
    (finding,) = findings_of(first + others, ["k.cpp"])
    assert "did you mean 'Attr'" in finding.message


def test_messages_of_clang_are_read_too(tmp_path: Path) -> None:
    """An error in a header of the system goes to the line of the user that required it."""
    file = tmp_path / "k.cpp"
    file.write_text("int main() {\n  sort(list);\n}\n")
    text = (
        f"/usr/include/c++/12/bits/stl_algo.h:1948:17: error: no match for 'operator-'\n"
        f"{file}:2:3: note: in instantiation of function template specialization 'sort' requested here\n"
        "1 error generated.\n"
    )
    (finding,) = findings_of(text, [str(file)])
    assert (finding.span.line, finding.span.col) == (2, 3)
    assert "stl_algo.h:1948" in finding.message
