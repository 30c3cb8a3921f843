"""CppKernels: the C++ kernel files of an op directory, built and loaded, and the op types that they serve.

Imported only where there are such files and they are wanted, so that a directory without C++ looks for no compiler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path

from opkit.diagnostics import Diagnostic
from opkit.errors import KernelError, Location, UsageError, unknown
from opkit.native import CppLibrary, SanitizedLibrary, build, find_compiler, load_library
from opkit.native.compiler import how_to_install
from opkit.paths import StrPath
from opkit.project.cpp_kernel import CppKernel
from opkit.project.directory import OpDirectory
from opkit.project.findings import finding, source_of
from opkit.project.kernel import UserKernel
from opkit.record import record
from opkit.settings import current_settings
from opkit.spec import CompiledOp, CompileResult


@record
class CppKernels:
    """What C++ files hold.

    Args:
        library: the loaded library, None where it was not built.
        diagnostics: what is to be said: errors and warnings of the compiler, or why it was not asked.
        places: the first registration of each op type.
    """

    library: CppLibrary | SanitizedLibrary | None
    diagnostics: tuple[Diagnostic, ...] = ()
    places: dict[str, Location] = field(default_factory=dict)

    def kernel_of(self, op: CompiledOp) -> UserKernel | None:
        """Return the C++ kernel of an op type, None where none is registered."""
        where = self.places.get(op.name)
        if self.library is None or where is None:
            return None
        return UserKernel(op.name, CppKernel(self.library, op), True, _computing(op.name, where))


def _computing(op: str, registered: Location) -> Location:
    """Return where the kernel of an op type computes; where its class is not found, where it is registered."""
    text = source_of(Path(registered.file)).text
    named = re.search(rf'"{op}"\)[\s\\]*\.SetCreateFn<\s*(\w+)', text)
    found = named and re.search(rf"class {named[1]}\b.*?void Compute\b", text, re.DOTALL)
    line = text.count("\n", 0, found.end()) + 1 if found else registered.line
    return replace(registered, line=line, function=f"{op} (C++)")


def cpp_kernels(
    files: Sequence[Path],
    *,
    has_other: bool,
    include_dirs: Sequence[StrPath] = (),
    loads: bool = True,
) -> CppKernels:
    """Build and load C++ kernel files.

    Args:
        files: the sources of one library.
        has_other: whether there are Python kernels that can run instead where there is no compiler.
        include_dirs: more folders of headers.
        loads: whether the library is loaded into this process, and not only built.
    """
    names = ", ".join(str(path) for path in files)
    trouble = f"{names}: there is no C++ compiler"
    try:
        compiler = find_compiler()
    except UsageError as error:
        compiler, trouble = None, f"{names}: {error.message}"
    if compiler is None:
        if has_other and current_settings().kernel == "auto":
            return CppKernels(None, (finding("PROJ011", f"{trouble}; the Python kernels run", help=how_to_install()),))
        return CppKernels(None, (finding("PROJ032", trouble, help=how_to_install()),))
    sanitizes = current_settings().sanitize
    built = build(files, compiler, include_dirs=include_dirs, is_sanitized=sanitizes)
    notes = (finding("PROJ011", f"{names}: {built.note}"),) if built.note else ()
    if built.library is None or not loads:
        return CppKernels(None, (*built.diagnostics, *notes))
    try:
        library: CppLibrary | SanitizedLibrary
        if sanitizes:
            library = SanitizedLibrary(built.library, compiler.sanitizer_runtime())
        else:
            library = load_library(built.library)
        places: dict[str, Location] = {}
        for item in library.registrations():
            places.setdefault(item.op, item.where)
    except (KernelError, UsageError) as error:
        return CppKernels(None, (*built.diagnostics, finding("PROJ032", error.message, help=error.help)))
    return CppKernels(library, (*built.diagnostics, *notes), places)


def kernels_of(directory: OpDirectory, result: CompileResult, found: list[Diagnostic]) -> CppKernels:
    """Build the C++ kernels of an op directory, and compare what they register with its definitions.

    Args:
        directory: it has C++ files.
        result: its compiled definitions.
        found: gets what is found.
    """
    built = cpp_kernels(directory.cpp_kernels, has_other=directory.kernel.is_file())
    found.extend(built.diagnostics)
    for op, where in built.places.items():
        if op not in result.ops:
            known = unknown("no op type is defined as", op, result.ops)
            source = source_of(Path(where.file))
            span = source.span(source.offset(where.line), source.offset(where.line, len(source.line(where.line)) + 1))
            found.append(finding("PROJ033", f"a C++ kernel is registered, but {known.message}", span, help=known.help))
    return built
