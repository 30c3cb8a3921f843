"""Loading an op directory: ``flow.experimental.custom_op_module`` (v0.4). No compiler, no copy, no file written."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

from opkit.errors import MissingNameError, ProjectError, UnsupportedError, UsageError, unknown
from opkit.oneflow.session import session
from opkit.paths import StrPath
from opkit.settings import current_settings, note, settings
from opkit.shim import frameworks


class CustomOpModule:
    """The op directory ``MODULE_PATH/OP_MODULE_NAME``.

    ``py_api()``, ``cpp_def()``, ``py_kernel()`` and ``cpp_kernel()`` say, in any order, what to take from it;
    ``build_load()`` makes it take effect, and ``api`` is its API file's module.

    Args:
        op_module_name: the folder's name, which is the op's.
        module_path: the folder that holds it; the working folder where left out.

    Raises:
        UsageError: there is no such folder; folders of a similar name are offered.
    """

    def __init__(self, op_module_name: str, module_path: StrPath = "") -> None:
        self._name = op_module_name
        base = os.fspath(module_path) or os.curdir
        self._path = os.path.join(base, op_module_name)
        self._wanted: list[str] = []
        self._api: ModuleType | None = None
        if not os.path.isdir(self._path):
            beside = (
                [item for item in os.listdir(base) if os.path.isdir(os.path.join(base, item))]
                if os.path.isdir(base)
                else []
            )
            otherwise = f"'opkit new {op_module_name}' makes one"
            raise unknown(f"{base!r} has no op directory", op_module_name, beside, otherwise=otherwise, limit=3).error(
                UsageError
            )

    @property
    def api(self) -> ModuleType:
        """The API file's module.

        Raises:
            UsageError: ``py_api()`` was not called.
        """
        if self._api is None:
            raise UsageError(
                f"op module {self._name!r}: its API is not loaded",
                help="call .py_api().cpp_def().py_kernel().build_load() first",
            )
        return self._api

    def py_api(self) -> CustomOpModule:
        """Take the API file."""
        return self._want("py_api", f"{self._name}_py_api.py")

    def cpp_def(self) -> CustomOpModule:
        """Take the op definitions."""
        return self._want("cpp_def", f"{self._name}_cpp_def.cpp")

    def py_kernel(self) -> CustomOpModule:
        """Take the Python kernels."""
        return self._want("py_kernel", f"{self._name}_py_kernel.py")

    def cpp_kernel(self) -> CustomOpModule:
        """Take the C++ kernels, which run where the op has them; without a compiler the Python kernels do."""
        return self._want("cpp_kernel", f"{self._name}_cpp_kernel.cpp")

    def gpu_kernel(self) -> CustomOpModule:
        """Refuse a GPU kernel: opkit's runtime is CPU only."""
        raise UnsupportedError(f"op module {self._name!r}: opkit's runtime is CPU only", help="call py_kernel()")

    def build_load(self) -> None:
        """Compile the definitions, bind the kernels and make the op types known to builders.

        Raises:
            ProjectError: the directory cannot be used; the message contains every finding with its position.
        """
        chosen = current_settings().kernel
        if chosen == "auto" and "cpp_kernel" not in self._wanted:
            chosen = "python"
        with frameworks(), settings(kernel=chosen):
            loaded = session().library.load(self._path)
            if "py_api" in self._wanted:
                self._api = _guarded(loaded.api(), self._name)
        for item in loaded.diagnostics if chosen != "python" else ():
            if item.code == "PROJ011":
                note(f"{item.message}\n  help: {item.help}")

    def _want(self, part: str, file: str) -> CustomOpModule:
        if not os.path.isfile(os.path.join(self._path, file)):
            raise unknown(f"op directory {self._path!r} has no file", file, os.listdir(self._path)).error(ProjectError)
        self._wanted.append(part)
        return self


def _guarded(module: ModuleType, name: str) -> ModuleType:
    """Return an API file's module; for a missing name it suggests the nearest one."""

    def missing(wanted: str) -> Any:
        known = [item for item in vars(module) if not item.startswith("_")]
        what = f"the API file of op {name!r} ({module.__file__}) defines no"
        raise unknown(what, wanted, known).error(MissingNameError)

    vars(module).setdefault("__getattr__", missing)
    return module


def custom_op_module(op_module_name: str, module_path: StrPath = "") -> CustomOpModule:
    """Return the op directory ``module_path/op_module_name``; see ``CustomOpModule``."""
    return CustomOpModule(op_module_name, module_path)
