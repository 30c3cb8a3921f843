"""Reading a spec: a path or bytes become a SourceText, whatever they hold.

Findings are made instead of exceptions.
"""

from __future__ import annotations

import os
from pathlib import Path

from opkit.diagnostics import SourceText
from opkit.paths import StrPath
from opkit.spec.findings import Findings

#: Longest text that is compiled, in characters; OneFlow's largest spec has 30,000.
LARGEST = 1_000_000


def read_source(path: StrPath, findings: Findings) -> SourceText:
    """Read a file; what cannot be read becomes an empty text and a finding."""
    name = os.fspath(path)
    empty = SourceText("", name)
    try:
        file = Path(name)
        if file.is_dir():
            findings.add(
                "SPEC001",
                f"{name} is a folder, not a definition file",
                empty.span(0, 0),
                help="name the .cpp file in it",
            )
            return empty
        if file.exists() and not file.is_file():
            findings.add("SPEC001", f"{name} is not a regular file", empty.span(0, 0))
            return empty
        with open(name, "rb") as stream:
            data = stream.read(4 * LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        findings.add(
            "SPEC001", f"cannot read {name}: {reason}", empty.span(0, 0), help="check the path and its permissions"
        )
        return empty
    return decode(data, name, findings)


def decode(data: bytes, name: str, findings: Findings) -> SourceText:
    """Decode bytes as UTF-8; bad bytes and NULs are reported once and replaced by spaces."""
    bad: tuple[int, str] | None = None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = data.decode("utf-8-sig", errors="replace")
        bad = (len(data[: error.start].decode("utf-8-sig", errors="replace")), "is not UTF-8")
    return check_text(SourceText(text, name), findings, bad)


def check_text(source: SourceText, findings: Findings, bad: tuple[int, str] | None = None) -> SourceText:
    """Refuse what is too long or not text; return a text that the lexer can take."""
    text = source.text
    if len(text) > LARGEST:
        findings.add(
            "SPEC001",
            f"the definition file is too long: {len(text):,} characters, at most {LARGEST:,}",
            source.span(0, 0),
            help="keep data out of the definition file, or split it into several ops",
        )
        return SourceText("", source.path)
    if bad is None and "\0" in text:
        bad = (text.index("\0"), "holds a NUL byte")
    if bad is None:
        return source
    at, reason = bad
    findings.add(
        "SPEC002", f"the definition file {reason} here", source.span(at, at + 1), help="save the file as UTF-8 text"
    )
    return SourceText(text.replace("\0", " ").replace("\N{REPLACEMENT CHARACTER}", " "), source.path)
