"""The output of g++ and clang++ as findings at the user's lines: each error once, template noise folded.

Nothing is compiled here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from opkit.diagnostics import Diagnostic, Note, Severity, SourceText, Span
from opkit.native.compiler import INCLUDE
from opkit.record import mutable

CODE = "PROJ030"
_LINE = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<col>\d+):)?\s+(?P<what>.*)$")
_KIND = re.compile(r"^(fatal error|error|warning|note): (?P<text>.*)$")
_INCLUDED = re.compile(r"^(?:In file included| {17}) from (?P<file>[^:\n]+):(?P<line>\d+)")
_LINKING = re.compile(r"undefined reference to [`'‘](?P<name>[^'’]+)['’]|undefined symbol: (?P<symbol>.+)$")
_MOST = 20


@mutable
class _Item:
    """One message of the compiler: its text, and places in order of worth."""

    kind: str
    text: str
    places: list[tuple[str, int, int]] = field(default_factory=list)
    notes: list[tuple[str, tuple[str, int, int]]] = field(default_factory=list)


def findings_of(output: str, sources: Sequence[str]) -> tuple[Diagnostic, ...]:
    """Return the errors and warnings in a compiler's output.

    Args:
        output: what it wrote to its standard error.
        sources: the files that were compiled; a message about another file is put to the line of these that led there.
    """
    texts: dict[str, SourceText] = {}
    found: list[Diagnostic] = []
    seen: set[object] = set()
    for item in _items(output):
        place = next((at for at in item.places if is_users(at[0])), None) or next(iter(item.places), None)
        message = item.text
        if item.places and not is_users(item.places[0][0]):
            message += f" ({_short(item.places[0][0])}:{item.places[0][1]})"
        key = (item.kind == "warning", place[:2]) if place else message  # what else a line is said to be follows
        if key in seen:
            continue
        seen.add(key)
        notes = tuple(Note(text, _span(at, texts)) for text, at in item.notes[:2] if is_users(at[0]))
        severity = Severity.WARNING if item.kind == "warning" else Severity.ERROR
        code = "PROJ031" if severity is Severity.WARNING else CODE
        found.append(Diagnostic(code, severity, message, _span(place, texts) if place else None, notes))
    found.extend(_linking(output, {item.message for item in found}))
    return tuple(found[:_MOST])


def _items(output: str) -> list[_Item]:
    """Return the compiler's messages, each with the places that its context lines name."""
    items: list[_Item] = []
    waiting: list[tuple[str, int, int]] = []  # places that came before the message that they belong to
    for line in output.splitlines():
        included = _INCLUDED.match(line)
        if included:
            waiting.append((included["file"], int(included["line"]), 0))
            continue
        match = _LINE.match(line)
        if match is None:
            continue
        place = match["file"], int(match["line"]), int(match["col"] or 0)
        kind = _KIND.match(match["what"])
        if kind is None:
            waiting.append(place)  # "required from here"
        elif kind[1] == "note":
            if items and ("in expansion of macro" in kind["text"] or "in instantiation of" in kind["text"]):
                items[-1].places.append(place)
            elif items:
                items[-1].notes.append((kind["text"], place))
        else:
            items.append(_Item(kind[1], kind["text"], [place, *reversed(waiting)]))
            waiting = []
    return items


def _linking(output: str, known: set[str]) -> list[Diagnostic]:
    names = {(match["name"] or match["symbol"]).strip(): None for match in _LINKING.finditer(output)}
    return [
        Diagnostic(
            CODE,
            Severity.ERROR,
            f"{name} is declared and not defined",
            help="define it in the kernel's file, or in a file that it includes",
        )
        for name in names
        if name not in known
    ]


def is_users(file: str) -> bool:
    """Return whether a source is the user's: neither opkit's nor the system's."""
    full = os.path.realpath(file)
    return not full.startswith((str(INCLUDE), "/usr/", "/opt/", "/Library/", "/Applications/"))


def _short(file: str) -> str:
    for base in (str(INCLUDE), "/usr/include"):
        if file.startswith(base):
            return os.path.relpath(file, base)
    return file


def _span(place: tuple[str, int, int], texts: dict[str, SourceText]) -> Span:
    file, line, col = place
    if file not in texts:
        try:
            data = Path(file).read_bytes()
        except OSError:
            data = b""
        texts[file] = SourceText(data.decode("utf-8", errors="replace"), file)
    source = texts[file]
    text = source.line(line)
    # Compilers count bytes, spans count characters.
    start = len(text.encode()[: max(col - 1, 0)].decode("utf-8", errors="replace")) + 1
    if not col:
        start = len(text) - len(text.lstrip()) + 1
    word = re.match(r"\w+", text[start - 1 :])
    end = start + (len(word[0]) if word else 1)
    return source.span(source.offset(line, start), source.offset(line, min(end, len(text) + 1)))
