"""Hints for the checker: numbers and strings that occur in an op directory's kernels and in its spec.

Values at which kernels may branch, and legal values of string attributes; never needed, often decisive.
"""

from __future__ import annotations

from typing import Any

from opkit.checker import constants_of
from opkit.diagnostics import SourceText
from opkit.project.loading import LoadedOps
from opkit.spec.findings import Findings
from opkit.spec.lexer import STRING, lex

__all__ = ["hints_of"]


def hints_of(loaded: LoadedOps) -> tuple[Any, ...]:
    """Return the constants of a loaded directory's kernels, then the strings of its spec that name nothing in it."""
    kernels = [op.kernel.function for op in loaded.ops.values() if op.kernel is not None]
    return (*constants_of(kernels), *_strings(loaded))


def _strings(loaded: LoadedOps) -> list[str]:
    named = {"py", "device_sub_tag", *loaded.ops}
    for op in loaded.ops.values():
        if op.compiled is not None:
            named |= {arg.name for arg in (*op.compiled.inputs, *op.compiled.outputs)} | set(op.compiled.attrs)
    try:
        text = loaded.directory.spec.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):  # the build says so
        return []
    tokens = lex(SourceText(text, loaded.directory.spec.name), Findings())
    found = [token.text[1:-1] for token in tokens if token.kind == STRING and token.text.startswith('"')]
    short = [item for item in found if 0 < len(item) <= 24 and item.isidentifier() and item not in named]
    return list(dict.fromkeys(short))
