"""The checks of ``opkit doctor``: each uses a part of opkit, and reports the result.

The versions that opkit is tested with; `.ci/run` installs the newest of them, and the documentation shows them.

What is installed is ``checkup``'s to look at.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import opkit
from opkit.cli.building import PINNED
from opkit.errors import OpkitError
from opkit.project import KINDS, build, discover, load, scaffold
from opkit.project.rendering import templates_folder

#: name -> (oldest, newest)
TESTED: dict[str, tuple[str, str]] = {
    "python": ("3.10", "3.13"),
    "numpy": ("2.0", "2.4"),
    "torch": ("2.13", "2.14"),
    "jax": ("0.10", "0.10"),
}


def remark(name: str, version: str) -> str:
    """Return how a version stands to those that were tested, "" where it is one of them."""
    oldest, newest = map(_parts, TESTED[name])
    how = "newer" if _parts(version) > newest else "older" if _parts(version) < oldest else ""
    return f"{how} than what opkit is tested with ({tested(name)})" if how else ""


def tested(name: str) -> str:
    """Return the range as people write it."""
    oldest, newest = TESTED[name]
    return oldest if oldest == newest else f"{oldest} to {newest}"


def _parts(version: str) -> list[int]:
    return [int("".join(filter(str.isdigit, part)) or 0) for part in version.split(".")[:2]]


_DEPENDENCIES = ("typer", "rich", "jinja2")


#: What begins a line about something that works and was never tried.
UNTESTED = "untested: "


def checkup() -> Iterator[tuple[str, bool, str]]:
    """Yield (what, whether it is good, a line about it) for each part of the installation."""
    for name, check in _CHECKS.items():
        try:
            yield name, True, check()
        except (OpkitError, OSError, AssertionError, ImportError, metadata.PackageNotFoundError) as error:
            yield name, False, str(error)


def _python() -> str:
    said = remark("python", version := platform.python_version())
    text = f"{platform.python_implementation()} {version} at {sys.executable}"
    return f"{UNTESTED}{text}: {said}" if said else text


def _version(name: str) -> str:
    if find_spec(name) is None:
        return f"not installed: pip install 'opkit[{name}]' for its functions (tested with {tested(name)})"
    version = metadata.version(name)
    said = remark(name, version)
    return f"{UNTESTED}{version}: {said}" if said else f"{version} (tested with {tested(name)})"


def _compilers() -> str:
    found = {name: path for name in ("c++", "g++", "clang++", "nvcc") if (path := shutil.which(name))}
    return ", ".join(f"{name} at {path}" for name, path in found.items()) or "none; Python kernels need none"


def _pytest() -> str:
    text = f"{metadata.version('pytest')}; `opkit test` collects ops"
    return f"{text}, and so does plain pytest with -p opkit.pytest_plugin (addopts in [tool.pytest.ini_options])"


def _templates() -> str:
    folder = templates_folder()
    missing = [kind for kind in KINDS if not (folder / kind).is_dir()]
    if missing:
        raise OpkitError(f"{folder} lacks {', '.join(missing)}")
    return f"{len(KINDS)} kinds in {folder}"


def _definitions() -> str:
    with tempfile.TemporaryDirectory() as folder:
        scaffold("probe", Path(folder))
        result = build(discover([folder]))
    if result.has_errors:
        raise OpkitError(f"a scaffolded op has findings: {result.diagnostics[0].message}")
    return f"compiled {', '.join(result.loaded[0].ops)}"


def _kernels() -> str:
    with tempfile.TemporaryDirectory() as folder:
        scaffold("probe", Path(folder))
        op = load(Path(folder) / "probe").ops["probe_forward"]
        x = np.zeros(3, np.float32)
        y = op.bind({"x": [x]}, {}).opdef.kernel(x)
    if not np.allclose(y, np.log(2.0)):
        raise OpkitError(f"a scaffolded kernel returned {y}")
    return "a scaffolded kernel ran"


def _frameworks() -> str:
    from opkit.shim import FRAMEWORKS

    for name, package in FRAMEWORKS.items():
        if find_spec(package) is None:
            raise OpkitError(f"{package}, which serves {name!r}, is missing")
    real = [name for name in FRAMEWORKS if find_spec(name) is not None]
    return f"import {' and '.join(FRAMEWORKS)} under opkit run; really installed: {', '.join(real) or 'none'}"


def _threads() -> str:
    pinned = [f"{name}={os.environ[name]}" for name in PINNED if name in os.environ]
    return f"{os.cpu_count()} cores; BLAS threads: {', '.join(pinned) or 'not pinned'}"


def _engines() -> str:
    from opkit.cores import blas_threads, usable_cores

    threads = f"threads ({usable_cores()} cores to use, BLAS uses {blas_threads() or 'an unknown number of'} threads)"
    if find_spec("distributed") is None:
        return f"{threads}; no cluster: pip install 'opkit[cluster]'"
    return f"{threads}; clusters by Dask {metadata.version('dask')}, distributed {metadata.version('distributed')}"


#: The parts of the installation, in the order in which they are shown.
_CHECKS: dict[str, Callable[[], str]] = {
    "python": _python,
    "opkit": lambda: f"{opkit.__version__} at {Path(opkit.__file__).parent}",
    "packages": lambda: ", ".join(f"{name} {metadata.version(name)}" for name in _DEPENDENCIES),
    "numpy": lambda: _version("numpy"),
    "torch": lambda: _version("torch"),
    "jax": lambda: _version("jax"),
    "templates": _templates,
    "definitions": _definitions,
    "kernels": _kernels,
    "compilers": _compilers,
    "frameworks": _frameworks,
    "threads": _threads,
    "engines": _engines,
    "pytest": _pytest,
}
