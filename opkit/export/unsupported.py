"""Unsupported uses: the error for what a definition does that no exported file can do, in the definition's own words.

What is supported is decided where definitions are rewritten (``rewriting``).
"""

from __future__ import annotations

from opkit.diagnostics import Span
from opkit.export.model import ExportError, ExportKernel
from opkit.spec.lower.units import Unit
from opkit.spec.parse.syntax import Compound, Statement
from opkit.spec.parse.walk import walk

_LONGEST = 200


def unknown_use(kernel: ExportKernel, what: str, span: Span | None = None) -> ExportError:
    """Return the error for what a definition uses that has no form in an exported file.

    Args:
        kernel: the op.
        what: what is used.
        span: where; the registration where it is not known.
    """
    return ExportError(
        f"the definition of {kernel.name!r} uses {what}, which inference in an exported file does not support",
        where=(span or kernel.compiled.span).location,
    )


def statement_span(unit: Unit, line: int) -> Span:
    """Return where the statement stands that a line of a compiled function comes from; of a loop or branch, its head.

    Args:
        unit: the compiled function.
        line: its line, counted from 1.
    """
    tree, token = unit.program.tree, unit.lines[line - 1][1]
    around = [
        node
        for node in walk(unit.node)
        if isinstance(node, Statement) and not isinstance(node, Compound) and node.first <= token <= node.last
    ]
    if not around:
        return tree.span(unit.node)
    node = min(around, key=lambda item: item.last - item.first)
    body = getattr(node, "then", None) or getattr(node, "body", None)
    return tree.between(node.first, body.first - 1) if body is not None else tree.span(node)


def quoted(span: Span) -> str:
    """Return the text of a statement on one line, without its semicolon."""
    text = " ".join(span.text.split()).rstrip("; ")
    return repr(text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "...")
