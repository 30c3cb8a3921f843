"""Diagnostics: what is wrong with a user's text, where, and what to do about it."""

from opkit.diagnostics.diagnostic import Diagnostic, Note, Severity, sort_diagnostics, to_json
from opkit.diagnostics.pages import FAMILIES, codes, explain, titles, words
from opkit.diagnostics.render import render_text
from opkit.diagnostics.source import SourceText, Span

__all__ = [
    "FAMILIES",
    "Diagnostic",
    "Note",
    "Severity",
    "SourceText",
    "Span",
    "codes",
    "explain",
    "render_text",
    "sort_diagnostics",
    "titles",
    "to_json",
    "words",
]
