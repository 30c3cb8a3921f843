"""Parsing option values that several commands accept: shapes of inputs, reports and their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from opkit.errors import UsageError

_LONGEST_SHOWN = 60
COLOURS = ("auto", "always", "never")
#: What build, gradcheck and sbp print.
FORMS = ("text", "json", "github", "sarif")

#: Which kernels of an op directory run.
KERNELS = ("python", "cpp", "auto")


def one_of(names: Sequence[str]) -> Callable[[str], list[str]]:
    """Return what a shell asks for the values of an option: those that begin with what is typed."""

    def begun(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return begun


PrintedForm: TypeAlias = Annotated[
    str,
    typer.Option("--format", metavar="|".join(FORMS), help="What is printed.", autocompletion=one_of(FORMS)),
]
Kernel: TypeAlias = Annotated[
    str,
    typer.Option(
        "--kernel",
        metavar="|".join(KERNELS),
        help="Which kernels of op directories run; auto: C++ where it is asked for and there is a compiler.",
        autocompletion=one_of(KERNELS),
    ),
]
ReportFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--report", metavar="FORM=FILE", help="Also write json, html, junit or sarif to a file."),
]


def shape_of(text: str) -> tuple[str, tuple[int, ...]]:
    """Read ``NAME=SIZES``: an input's name and its shape.

    Raises:
        UsageError: it cannot be read.
    """
    name, equals, sizes = text.partition("=")
    try:
        shape = tuple(int(size) for size in sizes.split(",") if size.strip())
        if not equals or not name.strip() or any(size < 0 for size in shape):
            raise ValueError
    except ValueError:
        shown = repr(text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}...")
        raise UsageError(f"--shape {shown}: expected NAME=SIZES, for example x=3,4 (x= for a 0-d array)") from None
    return name.strip(), shape


def pair_of(text: str) -> tuple[str, Path]:
    """Read ``FORM=FILE``: the form of a report and where it goes.

    Raises:
        BadParameter: it cannot be read.
    """
    form, equals, file = text.partition("=")
    if not equals or not file:
        raise typer.BadParameter(f"{text!r}: expected FORM=FILE, for example json=report.json", param_hint="--report")
    return form, Path(file)
