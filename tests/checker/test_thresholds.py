"""The checker's numbers stand in one table, each with its reason."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import Path

import opkit.checker
from opkit.checker.model import thresholds

ROOT = Path(opkit.checker.__file__).parent
TABLE = Path(thresholds.__file__)
#: What is tried, not what decides: regimes, domains, attributes' values, points of a scan, mutants.
TRIED = {"search/values.py", "search/attributes.py", "search/shapes.py", "checks/scan.py", "power.py"}
#: Numbers of formulas: signs, means, halves.
PLAIN = {0.0, 1.0, 2.0, 0.5}


def modules() -> dict[str, ast.Module]:
    found = {path.relative_to(ROOT).as_posix(): path for path in ROOT.rglob("*.py") if path != TABLE}
    return {name: ast.parse(path.read_text()) for name, path in found.items()}


def entries() -> list[tuple[str, str]]:
    """Return each entry's names and the reason above it."""
    found, reason = [], ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("#: "):
            reason = f"{reason} {line[3:]}".strip()
            continue
        names = re.match(r"([A-Z_0-9, ]+) = ", line)
        if names:
            found.append((names[1], reason))
        reason = ""
    return found


def test_every_threshold_has_a_reason_and_a_source() -> None:
    """Each entry says what it bounds, and whether it is derived, tuned or there for the time a check takes."""
    assert len(entries()) > 60
    assert [names for names, why in entries() if len(why) < 30 or not re.search(r"\b(Derived|Tuned|Cost)\b", why)] == []


def test_every_threshold_is_used() -> None:
    """No entry is left over from a check that is gone."""
    used: set[str] = set()
    for path in ROOT.rglob("*.py"):
        if path != TABLE:
            tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
            used |= {token.string for token in tokens if token.type == tokenize.NAME}
    known = [name for names, _ in entries() for name in names.split(", ")]
    assert [name for name in known if name not in used] == []


def test_no_check_keeps_a_number_of_its_own() -> None:
    """Fractions in formulas and numbers of modules come from the table; what is tried stands in tables of the search."""
    found = []
    for name, tree in modules().items():
        if name in TRIED:
            continue
        inside = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and type(node.value) is float]
        values = [node.value for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
        whole = [node for node in values if isinstance(node, ast.Constant) and type(node.value) is int]
        found += [f"{name}:{node.lineno}" for node in [*inside, *whole] if node.value not in PLAIN]
    assert found == []
