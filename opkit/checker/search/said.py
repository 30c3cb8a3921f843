"""Said: what docstrings and comments say of how inputs go together: of one shape, or one of them a vector.

Reads text only; the shapes that they name for each input are read elsewhere.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence

from opkit.checker.model.written import comments_in, tree_in

_SAME = re.compile(r"\b(?:same|equal|identical|matching) (?:shapes?|sizes?)\b", re.IGNORECASE)
_TWO = re.compile(r"\b(?:both|two|inputs|tensors|arrays|operands)\b", re.IGNORECASE)
#: A shape for all inputs: "both [batch, dim]", "[N, 4] each".
_AXES = r"[\w*]+(?:\s*[,x*]\s*[\w*]+)*\s*,?"
_ALL = re.compile(
    rf"\b(?:both|each|all)\b[^\[(\n]{{0,24}}(?<!\w)\[\s*{_AXES}\s*\]|\[\s*{_AXES}\s*\]\s+(?:each|both)\b", re.IGNORECASE
)
#: What follows a name, and not an article.
_NO_ARTICLE = r"(?!\s+(?!and\b|is\b|has\b|of\b|with\b)[a-z])"


def words_in(text: str) -> str:
    """Return the docstrings and comments of a piece of source, a line each."""
    found = comments_in(text)
    nodes = ast.walk(tree_in(text))
    found += [ast.get_docstring(node) or "" for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    return "\n".join(found)


def says_equal(words: str, names: Sequence[str]) -> bool:
    """Say whether words give all inputs one shape; a line on a gradient's shape is about something else.

    Args:
        words: docstrings and comments.
        names: of the inputs.
    """
    if _ALL.search(words):
        return True
    for line in words.splitlines():
        mentioned = sum(bool(re.search(name_pattern(name), line)) for name in names)
        if _SAME.search(line) and (mentioned > 1 or _TWO.search(line)):
            return True
    return False


def vectors_in(words: str, names: Iterable[str]) -> frozenset[str]:
    """Return the inputs that words call a vector."""
    return frozenset(
        name
        for name in names
        if re.search(
            rf"\bvector {name_pattern(name)}|{name_pattern(name)}:? (?:is |the |a |row |column )*vector\b", words
        )
    )


def name_pattern(name: str) -> str:
    """Return the pattern of an input's name; an ``a`` before another word is an article."""
    return rf"\b{re.escape(name)}\b" + (_NO_ARTICLE if name == "a" else "")
