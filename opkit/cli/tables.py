"""What ``opkit build`` and ``opkit ops`` show: tables of ops, and diagnostics in colour."""

from __future__ import annotations

import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

import opkit
from opkit.cli.console import console, paint, put, uses_colour, warn
from opkit.diagnostics import Diagnostic, Severity, render_text
from opkit.project import Build, LoadedOps, UserOp

__all__ = ["op_table", "show_build", "show_diagnostics"]

_LEAST = 14
_HEAD = re.compile(r"^(error|warning|note)\[(\w+)\]: (.*)$")


def show_build(result: Build, form: str, *, show_python: bool, no_kernel: str = "missing") -> None:
    """Show a build in a form: the table and the compiled Python are data; diagnostics as text are not."""
    if form == "json":
        put(json.dumps(result.to_json(opkit.__version__), indent=2))
        return
    if form in ("github", "sarif"):
        from opkit.reporters import github_diagnostics, sarif_diagnostics

        text = (github_diagnostics if form == "github" else sarif_diagnostics)(result.diagnostics)
        if text:
            put(text)
        return
    if show_python:
        for loaded in result.loaded:
            put(_python_of(loaded))
    elif any(loaded.ops for loaded in result.loaded):
        console().print(_table(result.loaded, no_kernel))
    show_diagnostics(result.diagnostics)
    if result.loaded:
        warn(_summary(result))


def _python_of(loaded: LoadedOps) -> str:
    parts = [compiled.python_source() for compiled in loaded.result.ops.values()]
    parts += [f"# {grad.op_type}: gradient\n{grad.python_source()}" for grad in loaded.result.grads.values()]
    return "\n\n".join(part.rstrip() for part in parts if part)


def _table(loaded: Iterable[LoadedOps], no_kernel: str) -> Table | Text:
    rows = [
        (op.name, *_signature(op), _gradient(op), op.kernel.where.function if op.kernel is not None else no_kernel)
        for one in loaded
        for op in one.ops.values()
    ]
    return op_table(rows, ("op", "inputs", "outputs", "attributes", "gradient", "kernel"))


def op_table(rows: Sequence[Sequence[str]], headings: Sequence[str]) -> Table | Text:
    """Return a table of ops; where the terminal is too narrow for one, a block of lines per op. No word is split."""
    longest = [
        max((len(word) for row in (headings, *rows) for word in row[index].split()), default=0) + 1
        for index in range(len(headings))
    ]
    if sum(longest) > console().width:
        return Text("\n\n".join(_stacked(row, headings) for row in rows), no_wrap=False)
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    widest = [max(len(row[index]) for row in (headings, *rows)) + 2 for index in range(len(headings))]
    # Attributes are shortened first, if that leaves them room: names are easier to read in one piece.
    names = sum(size for size, heading in zip(widest, headings) if heading != "attributes")
    fits = names + _LEAST <= console().width
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=fits and heading != "attributes")
    for row in rows:
        table.add_row(*[Text(cell, style="red" if cell in ("error", "missing") else "") for cell in row])
    return table


def _stacked(row: Sequence[str], headings: Sequence[str]) -> str:
    column = max(map(len, headings[1:])) + 2
    width = max(console().width - column - 2, 10)
    lines = [row[0]]
    for heading, cell in zip(headings[1:], row[1:]):
        pieces = [
            piece
            for part in cell.split("\n")
            for piece in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False)
        ]
        lines += [f"  {heading if first else '':<{column}}{piece}" for first, piece in _marked(pieces)]
    return "\n".join(lines)


def _marked(pieces: Sequence[str]) -> list[tuple[bool, str]]:
    return [(index == 0, piece) for index, piece in enumerate(pieces)]


def _signature(op: UserOp) -> tuple[str, str, str]:
    compiled = op.compiled
    if compiled is None or compiled.has_errors:
        return "error", "error", "error"
    attrs = [f"{spec.name}: {spec.type} = {spec.default!r}" for spec in compiled.attrs.values()]
    return (
        ", ".join(_arg(arg) for arg in compiled.inputs),
        ", ".join(_arg(arg) for arg in compiled.outputs),
        "\n".join(text for text in attrs if not text.startswith("device_sub_tag:")) or "-",
    )


def _arg(arg: Any) -> str:
    return f"{arg.name}{'...' if arg.is_variadic else ''}{'?' if arg.is_optional else ''}"


def _gradient(op: UserOp) -> str:
    if op.has_gradient:
        return "yes"
    return "error" if op.grad_trouble else "-"


def show_diagnostics(diagnostics: Sequence[Diagnostic]) -> None:
    """Show diagnostics on standard error."""
    text = render_text(diagnostics)
    if text:
        warn((_coloured(text) if uses_colour(sys.stderr) else text) + "\n")


def _coloured(text: str) -> str:
    lines = []
    for line in text.splitlines():
        head = _HEAD.match(line)
        if head:
            word, code, message = head.groups()
            line = f"{paint(f'{word}[{code}]', word)}: {paint(message, 'strong')}"
        elif line.strip(" |").strip("^") == "" and "^" in line:
            line = paint(line, "error")
        elif line.lstrip().startswith("= help:"):
            line = line.replace("= help:", f"= {paint('help:', 'good')}", 1)
        lines.append(line)
    return "\n".join(lines) + "\n"


def _summary(result: Build) -> str:
    count = sum(len(loaded.ops) for loaded in result.loaded)
    severities = Counter(item.severity for item in result.diagnostics)
    parts = [f"{number} {severity.value}{'s' if number > 1 else ''}" for severity, number in _by_weight(severities)]
    text = f"{count} op type{'' if count == 1 else 's'} in {len(result.loaded)} "
    text += f"director{'y' if len(result.loaded) == 1 else 'ies'}: {', '.join(parts) or 'no findings'}"
    return paint(text, "error" if result.has_errors else "good")


def _by_weight(severities: Counter[Severity]) -> list[tuple[Severity, int]]:
    return [(severity, severities[severity]) for severity in Severity if severities[severity]]
