"""Parsing option values that several commands accept: choices, shapes of inputs, reports and their files.

typer is not imported here: a plain command line is run without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opkit.errors import UsageError, unknown

_LONGEST_SHOWN = 60
COLOURS = ("auto", "always", "never")
#: What build, gradcheck and sbp print.
FORMS = ("text", "json", "github", "sarif")

#: Which kernels of an op directory run.
KERNELS = ("python", "cpp", "auto")


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
        from typer import BadParameter

        from opkit.reporters.forms import FORMS

        form = Path(text).suffix.removeprefix(".")
        meant = f"{form}={text}" if form in FORMS else "json=report.json"
        raise BadParameter(f"{text!r}: expected FORM=FILE, for example {meant}", param_hint="--report")
    return form, Path(file)


def choice(option: str, value: str, known: Sequence[str]) -> str:
    """Return an option's value if it is one of the known ones.

    Raises:
        UsageError: it is not; the nearest is named.
    """
    if value in known:
        return value
    raise unknown(f"{option}: there is no", value, known, has="there are").error(UsageError)
