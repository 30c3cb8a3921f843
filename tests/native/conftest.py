"""What tests of C++ kernels share: a compiler, or a skip that says so, and one cache for all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.native import Compiler, CppLibrary, build, find_compiler, load_library

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache folder that the workers of a test run share: the prelude is compiled once."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "opkit-cache"


@pytest.fixture
def compiler(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Return the machine's compiler, with the shared cache in force."""
    found = find_compiler()
    if found is None:
        pytest.skip("no C++ compiler on this machine (g++, clang++ or CXX)")
    monkeypatch.setenv("OPKIT_CACHE", str(shared_cache))
    return found


@pytest.fixture
def language(compiler: Compiler) -> CppLibrary:
    """Return the library of ``data/language_cpp_kernel.cpp``."""
    built = build([DATA / "language_cpp_kernel.cpp"], compiler)
    assert built.library is not None, built.diagnostics
    return load_library(built.library)
