"""Ops from C++ sources of one's own: definitions and kernels in the .cpp files of a folder, as OneFlow's guide has it.

Which file holds what is told by the registrations in it; a folder's library is what all of them make together.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from opkit.diagnostics import Diagnostic, SourceText, render_text, sort_diagnostics
from opkit.errors import ProjectError
from opkit.ops import BUILTIN, Registry
from opkit.paths import StrPath
from opkit.project.cpp_kernels import CppKernels, cpp_kernels
from opkit.project.directory import OpDirectory
from opkit.project.findings import fatal, source_of
from opkit.project.loading import LoadedOps, bind_ops
from opkit.spec import CompileResult, compile_spec, outline

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINES = re.compile(r"\bREGISTER_(?:CPU_ONLY_|NO_GRAD_|NO_GRAD_CPU_ONLY_)?USER_OP(?:_GRAD)?\s*\(")
_KERNEL = "REGISTER_USER_KERNEL"


def load_sources(folder: StrPath, parent: Registry = BUILTIN) -> LoadedOps:
    """Load the ops that the C++ files of a folder define, with the kernels that they register.

    Raises:
        ProjectError: there are no such files, or they do not compile; the message has every finding.
    """
    place = Path(folder)
    texts = {path: _COMMENT.sub(" ", source_of(path).text) for path in sorted(place.glob("*.cpp"))}
    specs = [path for path, text in texts.items() if _DEFINES.search(text)]
    kernels = [path for path, text in texts.items() if _KERNEL in text]
    if not specs:
        raise ProjectError(f"{str(place)!r} holds no C++ source that registers an op", help="add REGISTER_USER_OP(...)")
    result = _merged(compile_spec(path, include_dirs=(place,), known_ops=tuple(parent)) for path in specs)
    both = [path for path in kernels if path in specs]
    with tempfile.TemporaryDirectory() as scratch:
        files = [_without_definitions(path, Path(scratch)) if path in both else path for path in kernels]
        cpp = cpp_kernels(files, has_other=False, include_dirs=(place,)) if files else CppKernels(None)
    registry = Registry(parent)
    found: list[Diagnostic] = [*result.diagnostics, *cpp.diagnostics]
    directory = OpDirectory(place, place.name or Path(os.path.abspath(place)).name)
    ops = bind_ops(directory, result, None, registry, found, cpp)
    if errors := fatal(found):
        raise ProjectError(f"the C++ sources of {str(place)!r} cannot be used\n{render_text(errors).rstrip()}")
    return LoadedOps(directory, result, ops, registry, sort_diagnostics(found), None, cpp)


def _merged(results: Iterable[CompileResult]) -> CompileResult:
    whole = list(results)
    return CompileResult(
        {name: op for one in whole for name, op in one.ops.items()},
        {name: grad for one in whole for name, grad in one.grads.items()},
        tuple(item for one in whole for item in one.diagnostics),
        whole[0].source,
    )


def _without_definitions(path: Path, scratch: Path) -> Path:
    """Write a file that the C++ compiler reads: its registrations of ops, which opkit compiles itself, are left out.

    Lines and columns stay, and the compiler names the user's file.
    """
    source = SourceText(path.read_bytes().decode("utf-8", errors="replace"), str(path))
    text = source.text
    for item in outline(source) or ():
        blank = re.sub(r"[^\n]", " ", text[item.start : item.end])
        text = text[: item.start] + blank + text[item.end :]
    made = scratch / path.name
    made.write_text(f'#line 1 "{os.path.abspath(path)}"\n{text}', encoding="utf-8")
    return made
