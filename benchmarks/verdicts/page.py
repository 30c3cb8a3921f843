"""The page of the documentation that shows the measure: its table is replaced, its words are kept."""

from __future__ import annotations

from pathlib import Path

__all__ = ["PAGE", "PICTURE", "replaced"]

PAGE = Path(__file__).resolve().parents[2] / "docs" / "verdicts.md"
PICTURE = "![Faults found and right ops accused, by checker](verdicts.svg)"
BEGIN, END = "<!-- measured -->", "<!-- end -->"


def replaced(page: str, table: str) -> str:
    """Return the page with another table between its marks."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{table}\n\n{END}{tail}"
