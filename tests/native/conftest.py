"""What tests of C++ kernels share: a compiler, or a skip that says so, and one cache for all of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opkit.native import Compiler, CppLibrary, build, find_compiler, load_library

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a cache folder that the workers of a test run share: the prelude is compiled once."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if base.name.startswith("popen-") else base) / "opkit-cache"


def use_compiler(patch: pytest.MonkeyPatch, cache: Path) -> Compiler:
    """Put the machine's compiler and a shared cache in force; it optimizes nothing, which takes a third of the time."""
    if find_compiler() is None:
        pytest.skip("no C++ compiler on this machine (g++, clang++ or CXX)")
    patch.setenv("OPKIT_CACHE", str(cache))
    patch.setenv("CXXFLAGS", f"{os.environ.get('CXXFLAGS', '')} -O0")
    found = find_compiler()
    assert found is not None
    return found


@pytest.fixture
def compiler(shared_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Compiler:
    """Return the machine's compiler, with the shared cache in force."""
    return use_compiler(monkeypatch, shared_cache)


@pytest.fixture
def language(compiler: Compiler) -> CppLibrary:
    """Return the library of ``data/language_cpp_kernel.cpp``."""
    built = build([DATA / "language_cpp_kernel.cpp"], compiler)
    assert built.library is not None, built.diagnostics
    return load_library(built.library)
