"""Columns: rows of text as a table that fits the terminal, without splitting a word.

What is in the rows is the callers'; nothing is printed here.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from opkit.cli.console import styled

_GAP = "  "
#: A column is not made narrower than this for what is in it, only for its longest word.
_LEAST = 14
#: With less room than this beside a head, a text stands under it, that much further in.
_BESIDE, _UNDER = 40, 4
#: Cells that say that something is wrong.
_BAD = ("error", "missing")


def columns_text(
    rows: Sequence[Sequence[str]], headings: Sequence[str], width: int, *, flexible: str, is_coloured: bool = False
) -> str:
    """Return a table, or, where the terminal is too narrow for one, a block of lines per row.

    Args:
        rows: cells; a cell may have several lines.
        headings: one per column.
        width: of the terminal.
        flexible: the column that is made narrower first.
        is_coloured: whether cells that say that something is wrong are red.
    """
    widths = _widths([headings, *rows], width, list(headings).index(flexible))
    if widths is None:
        return "\n\n".join(_stacked(row, headings, width) for row in rows)
    rule = "─" * (sum(widths) + len(_GAP) * (len(widths) - 1))
    lines = [*_laid_out(headings, widths, False), rule]
    lines += [line for row in rows for line in _laid_out(row, widths, is_coloured)]
    return "\n".join(lines)


def hanging(head: str, text: str, width: int) -> str:
    """Return a head with a text beside it, wrapped under itself; under the head where little room is beside it.

    Args:
        head: what stands first.
        text: words, which are not split; its lines stay lines.
        width: of the terminal.
    """
    column = len(head) if width - len(head) >= _BESIDE else _UNDER
    lines = _wrapped(text, width - column)
    if column == _UNDER:
        return "\n".join([head.rstrip(), *(" " * _UNDER + line for line in lines)])
    return "\n".join([head + lines[0], *(" " * column + line for line in lines[1:])]).rstrip()


def _widths(table: Sequence[Sequence[str]], width: int, flexible: int) -> list[int] | None:
    """Return the width of each column; None where not even the longest words fit beside each other."""
    columns = list(zip(*table))
    widest = [max(len(line) for cell in column for line in cell.split("\n")) for column in columns]
    least = [max(len(word) for cell in column for word in cell.split()) for column in columns]
    room = width - len(_GAP) * (len(columns) - 1)
    if sum(least) > room:
        return None
    order = sorted(range(len(columns)), key=lambda index: (index != flexible, -widest[index]))
    for floor in ([max(few, _LEAST) for few in least], least):
        for index in order:
            excess = sum(widest) - room
            widest[index] = max(min(widest[index], floor[index]), widest[index] - max(excess, 0))
    return widest


def _laid_out(row: Sequence[str], widths: Sequence[int], is_coloured: bool) -> list[str]:
    cells = [_wrapped(cell, width) for cell, width in zip(row, widths)]
    lines = []
    for number in range(max(map(len, cells))):
        pieces = [cell[number] if number < len(cell) else "" for cell in cells]
        padded = [f"{piece:<{width}}" for piece, width in zip(pieces, widths)]
        coloured = [
            styled(piece, "error", is_coloured) + text[len(piece) :] if piece in _BAD else text
            for piece, text in zip(pieces, padded)
        ]
        lines.append(_GAP.join(coloured).rstrip())
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    return [
        piece
        for part in cell.split("\n")
        for piece in textwrap.wrap(part, width, break_long_words=False, break_on_hyphens=False) or [""]
    ]


def _stacked(row: Sequence[str], headings: Sequence[str], width: int) -> str:
    column = max(map(len, headings[1:])) + 2
    lines = [row[0]]
    for heading, cell in zip(headings[1:], row[1:]):
        for number, piece in enumerate(_wrapped(cell, max(width - column - 2, 10))):
            lines.append(f"  {'' if number else heading:<{column}}{piece}")
    return "\n".join(lines)
