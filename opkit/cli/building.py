"""Building op directories for the command line: what is compiled, loaded, written and shown.

typer is not imported here: a plain command line is run without it.

What ``opkit build`` shows and, with ``--fix``, writes of what definitions lack.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from opkit import project  # as a whole: what amends is imported only where something is lacking
from opkit.atomic import is_fault_of_disk, write_together
from opkit.cli.arguments import FORMS, choice
from opkit.cli.console import hint, put, styled, user_code, uses_colour, warn
from opkit.cli.ends import CLEAN, NOTHING, SPEC_ERRORS, ended
from opkit.collection import uncollected
from opkit.errors import UsageError
from opkit.streams import escape_unprintable

if TYPE_CHECKING:
    from opkit.project import LoadedOps, OpDirectory


#: What BLAS reads the number of its threads from.
PINNED = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
#: The flag that a plain command line may have.
SPEC_ONLY = "--spec-only"


def build_plainly(words: Sequence[str]) -> NoReturn:
    """Build with the settings that hold where no flag but that one says otherwise, and exit as the outcome says."""
    escape_unprintable()
    with ended():
        raise SystemExit(built([Path(word) for word in words if word != SPEC_ONLY], spec_only=SPEC_ONLY in words))


def built(
    paths: Sequence[Path],
    form: str = "text",
    show_python: bool = False,
    spec_only: bool = False,
    compile_commands: bool = False,
    fix: bool = False,
) -> int:
    """Build op directories, show what was found, and return the exit status; see ``opkit build --help``."""
    for name in PINNED:  # BLAS starts no threads, which a build does not need: a process with one can be forked
        os.environ.setdefault(name, "1")
    with uncollected():
        from opkit.cli.building import show_amendments, write_amendments
        from opkit.cli.configured import paths_of
        from opkit.cli.tables import show_build
        from opkit.project import build as build_directories
        from opkit.project import discover

    choice("--format", form, FORMS)
    directories = discover(paths_of([str(path) for path in paths]))
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
        return NOTHING
    return SPEC_ERRORS if result.has_errors else CLEAN


def put_compile_commands(files: Sequence[Path]) -> None:
    """Write ``compile_commands.json`` into the current folder.

    Raises:
        UsageError: there is no C++ compiler.
    """
    from opkit.atomic import write_file
    from opkit.native import find_compiler
    from opkit.native.building import compile_commands
    from opkit.native.compiler import how_to_install

    compiler = find_compiler()
    if compiler is None:
        raise UsageError("there is no C++ compiler", help=how_to_install())
    write_file("compile_commands.json", compile_commands(files, compiler).encode())
    put("compile_commands.json")


_STYLES = {"+": "good", "-": "error", "@": "note"}


def write_amendments(directories: Iterable[OpDirectory]) -> None:
    """Write what definitions lack, and say what it is.

    Raises:
        UsageError: a definition cannot be written, or is a link: a directory from elsewhere may hold one that leads
            to any file.
    """
    for directory in directories:
        amendment = project.amendment_of(directory)
        if amendment is None:
            continue
        if directory.spec.is_symlink():
            raise UsageError(
                f"--fix does not write {os.fspath(directory.spec)!r}: it is a link to {os.readlink(directory.spec)!r}",
                help="run it on the folder that holds the file",
            )
        name = directory.spec.name
        try:
            write_together(directory.path, name, {name: amendment.after.encode("utf-8")})
        except OSError as error:
            if is_fault_of_disk(error):
                raise
            raise UsageError(f"--fix cannot write {os.fspath(directory.spec)!r}: {error.strerror}") from error
        for line in amendment.additions:
            warn(f"fixed {directory.spec}: {line}")


def show_amendments(loaded: Iterable[LoadedOps]) -> None:
    """Show the difference that ``--fix`` would write, of directories that are not complete."""
    for item in loaded:
        amendment = project.amendment_of(item.directory) if item.diagnostics or not item.result.grads else None
        if amendment is not None:
            is_coloured = uses_colour(sys.stderr)
            lines = (styled(line, _STYLES.get(line[:1], ""), is_coloured) for line in amendment.diff().splitlines())
            hint(f"opkit build --fix {item.directory.path} would write:\n" + "\n".join(lines) + "\n")
