"""Hints for the checker: numbers and strings that occur in an op directory's kernels and in its spec.

Values at which kernels may branch, and legal values of string attributes; never needed, often decisive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from opkit.checker import constants_of
from opkit.diagnostics import SourceText
from opkit.ops.core.types import Function
from opkit.project.loading import LoadedOps
from opkit.spec.findings import Findings
from opkit.spec.text.lexer import STRING, Token, lex


def hints_of(loaded: LoadedOps) -> tuple[Any, ...]:
    """Return the constants of a loaded directory's kernels, then the strings of its spec that name nothing in it."""
    return (*constants_of(kernels_of(loaded)), *_strings(loaded))


def kernels_of(loaded: LoadedOps) -> list[Function]:
    """Return the kernel functions of a loaded directory."""
    return [op.kernel.function for op in loaded.ops.values() if op.kernel is not None]


def _strings(loaded: LoadedOps) -> list[str]:
    named = {"py", "device_sub_tag", *loaded.ops}
    for op in loaded.ops.values():
        if op.compiled is not None:
            named |= {arg.name for arg in (*op.compiled.inputs, *op.compiled.outputs)} | set(op.compiled.attrs)
    found = [token.text[1:-1] for token in _tokens(loaded) if token.kind == STRING and token.text.startswith('"')]
    short = [item for item in found if 0 < len(item) <= 24 and item.isidentifier() and item not in named]
    return list(dict.fromkeys(short))


def sizes_of(loaded: LoadedOps) -> tuple[int, ...]:
    """Return the whole numbers from 2 to 1024 that stand in a loaded directory's spec, the most frequent first."""
    counts = Counter(
        int(token.text) for token in _tokens(loaded) if token.text.isdecimal() and 2 <= int(token.text) <= 1024
    )
    return tuple(size for size, _ in counts.most_common())


def _tokens(loaded: LoadedOps) -> Sequence[Token]:
    try:
        text = loaded.directory.spec.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # the build says so
        return ()
    return lex(SourceText(text, loaded.directory.spec.name), Findings())
