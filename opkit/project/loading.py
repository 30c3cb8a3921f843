"""Loading an op directory: definitions are compiled, kernels bound by name, and all mistakes collected.

Nothing is written, nothing is remembered between loads, and the working directory is never read: the files are loaded
as they are now.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from opkit.diagnostics import Diagnostic, SourceText, render_text, sort_diagnostics
from opkit.errors import Location, ProjectError, unknown
from opkit.ops import BUILTIN, Registry
from opkit.ops.core.types import Function
from opkit.paths import StrPath
from opkit.project.api_check import check_api
from opkit.project.api_fact import ApiFact, facts_as_findings
from opkit.project.directory import OpDirectory, op_directory_of
from opkit.project.findings import fatal, finding, source_of
from opkit.project.kernel import UserKernel, positional_count
from opkit.project.kernel_check import check_kernels
from opkit.project.module import load_module
from opkit.project.user_op import UserOp
from opkit.project.wiring import check_wiring, orphans_of
from opkit.record import mutable
from opkit.settings import current_settings
from opkit.spec import CompiledOp, CompileResult, compile_spec

if TYPE_CHECKING:
    from opkit.project.cpp_kernels import CppKernels

_TAG = "device_sub_tag"


@mutable
class LoadedOps:
    """What an op directory holds.

    Args:
        directory: the directory.
        result: the compiled definitions.
        ops: every op type with its kernel, also those with errors (binding one of these raises an error that says what
            is wrong).
        registry: a child of the parent registry that holds ``ops``.
        diagnostics: all findings, sorted.
        kernel_module: the kernel file's module, None where it does not load.
        cpp: its C++ kernels, None where it has none or they are not wanted.
    """

    directory: OpDirectory
    result: CompileResult
    ops: dict[str, UserOp]
    registry: Registry
    diagnostics: tuple[Diagnostic, ...]
    kernel_module: ModuleType | None = None
    cpp: CppKernels | None = None

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(item.is_error for item in self.diagnostics)

    @property
    def forward_ops(self) -> tuple[str, ...]:
        """The op types that are checked: all except those that a gradient of this directory builds.

        A type that was to be built, by its name, and that no gradient builds (PROJ017) is left out too; one that has a
        gradient of its own counts.
        """
        grads = [grad.built_types for grad in self.result.grads.values()]
        orphans = orphans_of(self.result)
        return tuple(
            name
            for name, op in self.ops.items()
            if op.grad is not None or not (name in orphans or any(name in types for types in grads))
        )

    def api(self) -> ModuleType:
        """Load the API file. The framework that it imports must be importable: see ``opkit.shim.frameworks``.

        Raises:
            ProjectError: it is missing or does not load; the cause is the error it raised.
        """
        return _loaded(self.directory.api, "PROJ016", "API")

    def cases(self) -> ModuleType | None:
        """Load the cases file, None where there is none.

        Raises:
            ProjectError: it does not load; the cause is the error it raised.
        """
        return _loaded(self.directory.cases, "PROJ015", "cases") if self.directory.cases.is_file() else None


def load(path: StrPath, parent: Registry = BUILTIN) -> LoadedOps:
    """Load an op directory.

    Args:
        path: the folder.
        parent: where op types that the directory does not define are looked up.

    Raises:
        ProjectError: it cannot be used at all: a file is missing or does not load or parse. An error in one op type
            or one gradient does not prevent loading; an error is raised when that op type or gradient is used.
    """
    loaded = assemble(op_directory_of(path), parent)
    if errors := fatal(loaded.diagnostics):
        raise ProjectError(f"op directory {str(path)!r} cannot be loaded\n{render_text(errors).rstrip()}")
    return loaded


def assemble(directory: OpDirectory, parent: Registry = BUILTIN, *, runs_python: bool = True) -> LoadedOps:
    """Load as much of an op directory as possible, and collect all mistakes in it.

    Args:
        directory: the directory.
        parent: where op types that the directory does not define are looked up.
        runs_python: whether the kernel file is executed; without it no op has a kernel, and none is reported as
            missing.
    """
    found = list(_check_files(directory))
    registry = Registry(parent)
    if not directory.spec.is_file():
        result = CompileResult({}, {}, (), SourceText("", str(directory.spec)))
        return LoadedOps(directory, result, {}, registry, sort_diagnostics(found))
    result = compile_spec(directory.spec, include_dirs=(directory.path,), known_ops=tuple(parent))
    found.extend(result.diagnostics)
    module = None
    if directory.kernel.is_file() and runs_python:
        try:
            module = load_module(directory.kernel)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            found.append(_import_failure("PROJ004", "kernel", directory.kernel, error))
    cpp = _built_kernels(directory, result, found) if runs_python else None
    ops = bind_ops(directory, result, module, registry, found, cpp)
    found.extend(_check_ops(result, cpp.places if cpp is not None else ()))
    found.extend(check_wiring(result))
    if directory.kernel.is_file():
        found.extend(check_kernels(source_of(directory.kernel), directory.name, result))
    if directory.api.is_file():
        broken = {item.subject for item in result.diagnostics if item.is_error} - set(result.ops)
        is_whole = not fatal(result.diagnostics)
        found.extend(check_api(source_of(directory.api), result.ops, broken, tuple(parent), is_whole))
    return LoadedOps(directory, result, ops, registry, sort_diagnostics(found), module, cpp)


def unparsed_cases(directory: OpDirectory) -> list[Diagnostic]:
    """Return the finding about a cases file that does not parse; it is not run."""
    try:
        if directory.cases.is_file():
            compile(directory.cases.read_bytes(), os.path.abspath(directory.cases), "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return [_import_failure("PROJ015", "cases", directory.cases, error)]
    return []


def _built_kernels(directory: OpDirectory, result: CompileResult, found: list[Diagnostic]) -> CppKernels | None:
    """Build the C++ kernels where there are any and they are wanted; only then is a compiler looked for."""
    if not directory.cpp_kernels or current_settings().kernel == "python":
        return None
    from opkit.project.cpp_kernels import kernels_of

    return kernels_of(directory, result, found)


def with_facts(loaded: LoadedOps, facts: Sequence[ApiFact]) -> LoadedOps:
    """Return the same ops, with the results of trying the API file's functions added to the findings.

    Args:
        loaded: the ops.
        facts: of the directory's API file.
    """
    if not facts:
        return loaded
    source = source_of(loaded.directory.api)
    found = facts_as_findings(source, facts, loaded.result.ops, loaded.diagnostics)
    return replace(loaded, diagnostics=sort_diagnostics((*loaded.diagnostics, *found)))


def refreshed(loaded: LoadedOps) -> LoadedOps:
    """Return the same ops with the kernel file run again, so that nothing remains of earlier calls.

    Args:
        loaded: ops that can be used; their definitions are kept.

    Raises:
        BaseException: what the kernel file raises.
    """
    first = getattr(loaded.kernel_module, "__file__", None)  # absolute: a kernel may have changed the working folder
    place = first or loaded.directory.kernel
    module = load_module(place) if os.path.isfile(place) else None
    return with_kernels(replace(loaded, kernel_module=module), loaded.cpp)


def with_kernels(loaded: LoadedOps, cpp: CppKernels | None) -> LoadedOps:
    """Return the same ops with other C++ kernels, None for the Python kernels alone; findings stay as they are."""
    registry = Registry(BUILTIN)
    ops = bind_ops(loaded.directory, loaded.result, loaded.kernel_module, registry, [], cpp)
    return replace(loaded, ops=ops, registry=registry, cpp=cpp)


def _check_files(directory: OpDirectory) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    if not directory.path.is_dir():
        place = repr(str(directory.path))
        is_file = directory.path.is_file()
        said = f"{place} is a file; an op directory is a folder" if is_file else f"there is no folder {place}"
        return [finding("PROJ001", said)]
    for path in directory.specs:
        if path.name != directory.spec.name:
            said = f"{path} is in the folder {directory.name!r}, so its name must be {directory.spec.name!r}"
            stem = path.name.removesuffix("_cpp_def.cpp")
            found.append(finding("PROJ002", said, help=f"rename the file, or the folder to {stem!r}"))
    contents = {"op definitions": directory.spec, "API": directory.api, "kernels": directory.kernel}
    if directory.cpp_kernels and current_settings().kernel != "python":
        del contents["kernels"]
    for what, path in contents.items():
        if not path.is_file() and not (what == "op definitions" and found):
            others = {item.name for item in directory.path.iterdir()} - {item.name for item in contents.values()}
            message = f"{path} is missing: the {what} of {directory.name!r}"
            found.append(finding("PROJ001", message, help=unknown("no file", path.name, sorted(others)).help))
    for path in () if directory.cases.is_file() else sorted(directory.path.glob("*_cases.py")):
        said = f"{path} is not read: the cases of {directory.name!r} are those of {directory.cases.name!r}"
        found.append(finding("PROJ034", said, help=f"rename the file to {directory.cases.name!r}"))
    if current_settings().kernel == "python":
        found.extend(finding("PROJ011", f"{path}: the Python kernels run") for path in directory.cpp_kernels)
    return found


def bind_ops(
    directory: OpDirectory,
    result: CompileResult,
    module: ModuleType | None,
    registry: Registry,
    found: list[Diagnostic],
    cpp: CppKernels | None = None,
) -> dict[str, UserOp]:
    """Bind each op type of compiled definitions to its kernel, in C++ where there is one, and register it.

    Args:
        directory: where the definitions are.
        result: the definitions.
        module: the Python kernels.
        registry: gets the ops.
        found: gets what is found.
        cpp: the C++ kernels that are wanted.
    """
    ops: dict[str, UserOp] = {}
    troubles: dict[str, list[Diagnostic]] = {}
    for item in result.diagnostics:
        if item.is_error and item.subject:
            troubles.setdefault(item.subject, []).append(item)
    for name in dict.fromkeys((*result.ops, *troubles)):
        compiled, grad = result.ops.get(name), result.grads.get(name)
        text = "\n" + render_text(troubles[name]).rstrip() if name in troubles else ""
        where = troubles[name][0].span if compiled is None else compiled.span
        kernel = lacking = None
        if compiled is not None:
            kernel = cpp.kernel_of(compiled) if cpp is not None else None
            if kernel is None:
                kernel, lacking = _bind_kernel(directory, compiled, module)
            if kernel is None and lacking is None and cpp is not None and cpp.library is not None:
                said = f"op type {name!r} has no kernel: the C++ files register none"
                help = f'add REGISTER_USER_KERNEL("{name}"), or a function to {directory.kernel}'
                lacking = finding("PROJ003", said, where, help=help, subject=name)
            found += [] if lacking is None else [lacking]
        is_defined = compiled is not None and not compiled.has_errors
        ops[name] = UserOp(
            name,
            compiled,
            kernel,
            grad,
            registry,
            trouble="" if is_defined else text,
            grad_trouble=text if grad is not None and grad.has_errors else "",
            where=where.location if where is not None else None,
        )
        if is_defined and lacking is not None:
            ops[name] = replace(ops[name], trouble=lacking.message, trouble_help=lacking.help)
        registry.add(ops[name])
    return ops


def _bind_kernel(
    directory: OpDirectory, op: CompiledOp, module: ModuleType | None
) -> tuple[UserKernel | None, Diagnostic | None]:
    """Return the kernel of an op type, or the finding about it; neither where its file does not load."""
    name = directory.name
    if op.name != name and not op.name.startswith(f"{name}_"):
        return None, finding(
            "PROJ006",
            f"op type {op.name!r} must be {name!r} or begin with {name + '_'!r}: the rest names its kernel function",
            op.span,
            subject=op.name,
        )
    if module is None:
        return None, None
    wanted = op.name[len(name) + 1 :] or "forward"
    function = getattr(module, wanted, None)
    if function is None:
        return None, _no_function(directory, op, module, wanted)
    count = positional_count(function) if callable(function) else 0
    if count == 0:
        what = "takes no argument" if callable(function) else f"is not a function but a {type(function).__name__}"
        return None, finding(
            "PROJ005",
            f"{wanted!r} in {directory.kernel} {what}; it is the kernel of op type {op.name!r}",
            op.span,
            help=f"write it as: def {wanted}(args):",
            subject=op.name,
        )
    return UserKernel(op.name, function, count is not None and count >= 2, _place(function, directory, wanted)), None


def _no_function(directory: OpDirectory, op: CompiledOp, module: ModuleType, wanted: str) -> Diagnostic:
    own = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    what = f"op type {op.name!r} has no kernel: {directory.kernel} defines no function"
    said = unknown(what, wanted, own, otherwise=f"add: def {wanted}(args): ...")
    return finding("PROJ003", said.message, op.span, help=said.help, subject=op.name)


def _place(function: Function, directory: OpDirectory, name: str) -> Location:
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = getattr(function, "__code__", None)
    if code is None:
        return Location(os.path.abspath(directory.kernel), function=name)
    return Location(code.co_filename, code.co_firstlineno, function=name)


def _check_ops(result: CompileResult, in_cpp: Collection[str]) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    for op in result.ops.values():
        tag = op.attrs.get(_TAG)
        if (tag is None or tag.default != "py") and op.name not in in_cpp:
            what = "declares no" if tag is None else f"has the default {tag.default!r} for its"
            said = f"op type {op.name!r} {what} attribute {_TAG!r}; OneFlow would look for a C++ kernel"
            help = f'add .Attr<std::string>("{_TAG}", "py")'
            found.append(finding("PROJ010", said, op.span, help=help, subject=op.name))
        if op.name in BUILTIN:
            said = f"op type {op.name!r} already exists as a built-in op"
            found.append(finding("PROJ012", said, op.span, subject=op.name))
    return found


def _import_failure(code: str, what: str, path: Path, error: BaseException) -> Diagnostic:
    """Return the finding for a file whose import raised, at the line of that file where it did."""
    source = source_of(path)
    full = os.path.abspath(path)
    line, col = 1, 1
    if isinstance(error, SyntaxError) and error.filename == full:
        line, col = error.lineno or 1, error.offset or 1
    else:
        for frame, number in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename == full:
                line, col = number, len(source.line(number)) - len(source.line(number).lstrip()) + 1
    start = source.offset(line, col)
    end = max(start, source.offset(line, len(source.line(line).rstrip()) + 1))
    message = error.msg if isinstance(error, SyntaxError) else error
    return finding(code, f"the {what} file does not load: {type(error).__name__}: {message}", source.span(start, end))


def _loaded(path: Path, code: str, what: str) -> ModuleType:
    if not path.is_file():
        raise ProjectError(f"{path} is missing: the {what} file of {path.parent.name!r}")
    try:
        return load_module(path)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        diagnostic = _import_failure(code, what, path, error)
        raise ProjectError(render_text([diagnostic]).rstrip()) from error
