"""Flags: options that several commands have, as typer reads them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeAlias

import typer

from opkit.cli.arguments import FORMS, KERNELS


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
Seed: TypeAlias = Annotated[int, typer.Option(metavar="N", help="Seed of all random choices.")]
Shapes: TypeAlias = Annotated[
    list[str] | None, typer.Option("--shape", metavar="NAME=SIZES", help="Shape of an input, such as x=3,4.")
]
Jobs: TypeAlias = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", help="Ops checked at once; 0 means one per core.")
]
Effort: TypeAlias = Annotated[
    float,
    typer.Option(
        metavar="X",
        min=0.001,
        help="How much to try: 0.001 or more, usually 0.02 to 10; 1 takes about a second of a processor for an op of "
        "numpy, and up to twenty for a function of torch or JAX whose inputs are searched.",
    ),
]
Timeout: TypeAlias = Annotated[
    float, typer.Option(metavar="SECONDS", help="Seconds that one op may take; 0 for no limit.")
]
Memory: TypeAlias = Annotated[int, typer.Option(metavar="MIB", help="Memory that one op may use; 0 for no limit.")]
Cluster: TypeAlias = Annotated[
    str, typer.Option("--cluster", metavar="ADDRESS", help="Check on Dask workers: tcp://host:8786, or local:4.")
]
Output: TypeAlias = Annotated[
    bool, typer.Option("--output", "-s", help="Let through what kernels print, on standard error.")
]
PlainForm: TypeAlias = Annotated[
    str,
    typer.Option("--format", metavar="text|json", help="What is printed.", autocompletion=one_of(("text", "json"))),
]
