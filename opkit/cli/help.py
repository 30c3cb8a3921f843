"""Help: the help page of a command, as wide as the terminal, from 40 columns; names of options are never cut.

What the page says is taken from the command; nothing is parsed or run here.
"""

from __future__ import annotations

import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from typer.core import TyperCommand

from opkit.cli.console import styled, text_width, uses_colour
from opkit.cli.taking import take_as_they_are

#: Below that width the description of an option stands under it.
_NARROW = 60
#: The widest column of options; what is wider has its description below it.
_WIDEST = 28
_CODE = re.compile(r"`([^`]+)`")


class Command(TyperCommand):
    """A command whose help page is laid out here."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the page."""
        formatter.write(page_of(self, ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments."""
        take_as_they_are(self.get_params(ctx))
        return super().parse_args(ctx, args)


def page_of(command: Any, ctx: Any) -> str:
    """Return the help page of a command in a context."""
    width, is_coloured = text_width(), uses_colour(sys.stdout)
    path = ["opkit", *([] if ctx.parent is None else [str(ctx.info_name)])]
    parameters = [item for item in command.get_params(ctx) if not getattr(item, "hidden", False)]
    arguments = [item for item in parameters if item.param_type_name == "argument"]
    options = [item for item in parameters if item.param_type_name == "option"]
    subcommands = getattr(command, "commands", {})
    usage = [*path, "[OPTIONS]", *(["COMMAND ..."] if subcommands else map(_argument, arguments))]
    parts = [_filled("Usage: " + " ".join(usage), width, "       ")]
    parts += [_prose(block, width, is_coloured) for block in (command.help or "").split("\n\n") if block.strip()]
    for title, rows in (
        ("Arguments", [(_argument(item), item.help or "") for item in arguments if item.help]),
        ("Options", [(_option(item), _said(item)) for item in options]),
        ("Commands", [(name, _first(item.help)) for name, item in subcommands.items()]),
    ):
        if rows:
            parts.append(styled(f"{title}:", "strong", is_coloured) + "\n" + _table(rows, width, is_coloured))
    return "\n\n".join(parts) + "\n"


def _argument(item: Any) -> str:
    name = item.metavar or item.name.upper()
    name += "..." if item.nargs == -1 else ""
    return name if item.required else f"[{name}]"


def _option(item: Any) -> str:
    names = [*item.opts, *item.secondary_opts]
    short = [name for name in names if not name.startswith("--")]
    long = [name for name in names if name.startswith("--")]
    text = (f"{short[0]}, " if short else "    ") + "/".join(long)
    if getattr(item, "is_flag", False) or (item.metavar is None and isinstance(item.default, bool)):
        return text
    return f"{text} {item.metavar or item.name.upper()}"


def _said(item: Any) -> str:
    said = item.help or ""
    has_default = item.show_default is not False and not isinstance(item.default, bool) and not callable(item.default)
    if has_default and item.default not in (None, "", [], ()) and str(item.default) != ".":
        said += f" [default: {item.default}]"
    return said


def _first(text: str | None) -> str:
    """Return the first sentence of a command's help."""
    return " ".join((text or "").split("\n\n")[0].split()).rstrip(".")


def _table(rows: Sequence[tuple[str, str]], width: int, is_coloured: bool) -> str:
    fitting = [len(name) for name, _ in rows if len(name) <= _WIDEST]
    column = max(fitting, default=_WIDEST) + 4
    return "\n".join(line for row in rows for line in _row(*row, column, width, is_coloured))


def _row(name: str, said: str, column: int, width: int, is_coloured: bool) -> Iterator[str]:
    if width < _NARROW:
        name, column = name.strip(), 6
    said = _CODE.sub(r"\1", said)
    beside = len(name) + 4 <= column and width >= _NARROW
    lines = textwrap.wrap(said, width - column, break_long_words=False, break_on_hyphens=False)
    *before, last = _names(name, width - 2)
    for line in before:
        yield f"  {_bright(line, is_coloured)}"
    if beside and lines:
        yield f"  {_bright(last, is_coloured)}{' ' * (column - 2 - len(last))}{lines.pop(0)}"
    else:
        yield f"  {_bright(last, is_coloured)}"
    yield from (" " * column + line for line in lines)


def _names(name: str, width: int) -> list[str]:
    """Return the lines of an option: choices are broken between each other, a metavar before it."""
    lines, line = [], ""
    for piece in re.findall(r"[^| ]*[| ]*", name):
        if line.strip() and len(line) + len(piece.rstrip()) > width:
            lines.append(line.rstrip(" "))
            line = "    "
        line += piece
    return [*lines, line]


def _bright(text: str, is_coloured: bool) -> str:
    found = re.match(r" *(?:-\w, )?(?:--?[\w-]+/?)+", text)
    if not is_coloured or found is None:
        return text
    return styled(found[0], "note", True) + text[found.end() :]


def _prose(block: str, width: int, is_coloured: bool) -> str:
    if block.lstrip().startswith("Example"):  # to be copied: a line each
        return "\n".join(["Example:", *(f"  {line}" for line in _CODE.findall(" ".join(block.split())))])
    filled = _filled(" ".join(block.split()), width)
    return _CODE.sub(lambda found: styled(found[1], "note", True), filled) if is_coloured else _CODE.sub(r"\1", filled)


def _filled(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
