"""``opkit build``: compile and load op directories; every finding has a position."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from opkit.cli.arguments import FORMS
from opkit.cli.flags import PrintedForm
from opkit.collection import uncollected


def build(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Op directories, or folders to search.", show_default=False),
    ] = None,
    form: PrintedForm = "text",
    show_python: Annotated[
        bool, typer.Option("--show-python", help="Show the Python that the definitions are compiled to.")
    ] = False,
    spec_only: Annotated[
        bool,
        typer.Option("--spec-only", help="Compile the definitions and read the Python files, but run no Python."),
    ] = False,
    compile_commands: Annotated[
        bool,
        typer.Option("--compile-commands", help="Write compile_commands.json here, for editors of C++ kernels."),
    ] = False,
    fix: Annotated[
        bool,
        typer.Option(
            "--fix",
            help="Write what the definitions lack and the kernel and API files tell: attributes, shapes, dtypes, "
            "backward ops, gradient registrations. Without it the difference is shown.",
        ),
    ] = False,
) -> None:
    """Compile and load op directories, and check each as a whole; by default those below the current folder.

    Example: `opkit build my_op`.

    The functions of the API file are called with stub blobs, in a process of their own; --spec-only runs no Python of a
    directory. --fix adds lines and never changes any: the bodies of functions stay as they are.

    Exit status: 0 clean (warnings do not count), 3 a definition or a directory has errors, 5 no op directory found.
    """
    pin_threads()
    with uncollected():
        from opkit.cli.amendments import show_amendments, write_amendments
        from opkit.cli.arguments import choice
        from opkit.cli.configured import paths_of
        from opkit.cli.console import user_code, warn
        from opkit.cli.ends import CLEAN, NOTHING, SPEC_ERRORS
        from opkit.cli.tables import show_build
        from opkit.project import build as build_directories
        from opkit.project import discover

    choice("--format", form, FORMS)
    directories = discover(paths_of([str(path) for path in paths or []]))
    if fix:
        write_amendments(directories)
    if compile_commands:
        put_compile_commands([path for item in directories for path in item.cpp_kernels])
    if spec_only:
        result = build_directories(directories, runs_python=False)
    else:
        from opkit.verify.trial import tried

        with user_code():
            result = build_directories(directories, facts=tried(directories))
    show_build(result, form, show_python=show_python, no_kernel="not loaded" if spec_only else "missing")
    if form == "text" and not fix:
        show_amendments(result.loaded)
    if not directories:
        where = ", ".join(str(path) for path in paths or [Path()])
        warn(f"no op directory in {where}: none holds a NAME_cpp_def.cpp\nnext: opkit new NAME")
        raise typer.Exit(NOTHING)
    raise typer.Exit(SPEC_ERRORS if result.has_errors else CLEAN)


def put_compile_commands(files: Sequence[Path]) -> None:
    """Write ``compile_commands.json`` into the current folder.

    Raises:
        UsageError: there is no C++ compiler.
    """
    from opkit.atomic import write_file
    from opkit.cli.console import put
    from opkit.errors import UsageError
    from opkit.native import find_compiler
    from opkit.native.building import compile_commands
    from opkit.native.compiler import how_to_install

    compiler = find_compiler()
    if compiler is None:
        raise UsageError("there is no C++ compiler", help=how_to_install())
    write_file("compile_commands.json", compile_commands(files, compiler).encode())
    put("compile_commands.json")


def pin_threads() -> None:
    """Let BLAS start no threads, which a build does not need: a process with one thread can be forked."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
