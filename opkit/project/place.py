"""The position of a node of a Python syntax tree in its file.

``ast`` counts columns in UTF-8 bytes, spans count characters; nothing else about trees is known here.
"""

from __future__ import annotations

import ast

from opkit.diagnostics import SourceText, Span


def span_of(source: SourceText, node: ast.AST) -> Span:
    """Return the span of a node that has a position (an expression, a statement, a parameter).

    Args:
        source: the text that was parsed.
        node: the node.
    """
    line, byte = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
    end_line, end_byte = getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None) or byte
    return source.span(_offset(source, line, byte), _offset(source, end_line, end_byte))


def _offset(source: SourceText, line: int, byte: int) -> int:
    before = source.line(line).encode("utf-8")[:byte].decode("utf-8", errors="replace")
    return source.offset(line, len(before) + 1)
