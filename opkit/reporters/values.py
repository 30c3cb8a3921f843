"""Numbers, cases and source lines as short text, the same in every form of a report.

No layout and no colour here.
"""

from __future__ import annotations

import linecache
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from opkit.checker import CheckResult
from opkit.checker.model.case import plain
from opkit.diagnostics.render import printable
from opkit.errors import Location
from opkit.reporters.run import Finding

__all__ = ["case_text", "index_text", "look_of", "place_of", "printable", "said_of", "source_lines", "value_text"]

_LONGEST = 160


def value_text(value: Any, digits: int = 10) -> str:
    """Return a value for a reader: numbers to that many digits, arrays by their first entries."""
    if isinstance(value, bool) or value is None or isinstance(value, (int, np.integer)):
        return str(plain(value))
    if isinstance(value, (float, np.floating)):
        return f"{float(value):.{digits}g}"
    if isinstance(value, (complex, np.complexfloating)):
        return f"{complex(value):.{digits}g}"
    if isinstance(value, np.ndarray):
        if value.ndim == 0:
            return value_text(value.item(), digits)
        shown = ", ".join(value_text(item, digits) for item in value.ravel()[:6])
        more = ", ..." if value.size > 6 else ""
        return f"[{shown}{more}] {value.dtype}{list(value.shape)}"
    if isinstance(value, Mapping):
        return _cut(", ".join(f"{name} = {value_text(item, digits)}" for name, item in value.items()))
    if isinstance(value, (list, tuple)):
        return _cut(f"[{', '.join(value_text(item, digits) for item in value)}]")
    return _cut(printable(str(value)))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def case_text(case: Mapping[str, Any] | None) -> str:
    """Return a case in one line: "x float64 (3, 4) normal, seed 7; alpha = 0.1"."""
    if not case:
        return ""
    arrays: list[str] = []
    attrs: list[str] = []
    for name, value in case.items():
        if _is_array(value):
            arrays.append(f"{name} {_array(value)}")
        elif isinstance(value, list) and value and all(_is_array(item) for item in value):
            every = ", ".join(f"{item['name']} {_array(item)}" if "name" in item else _array(item) for item in value)
            arrays.append(every if "name" in value[0] else f"{name} [{every}]")
        else:
            attrs.append(f"{name} = {value_text(value)}")
    where = _circumstances(case)
    parts = [", ".join(arrays) + (f" ({where})" if where else ""), ", ".join(attrs)]
    return "; ".join(part for part in parts if part)


def _is_array(value: Any) -> bool:
    return isinstance(value, Mapping) and "shape" in value and "dtype" in value


def _array(value: Mapping[str, Any]) -> str:
    shape = value["shape"]
    told = f" {value_text(value['values'])}" if "values" in value else ""
    return f"{value['dtype']} ({', '.join(str(size) for size in shape)}{',' if len(shape) == 1 else ''}){told}"


def _circumstances(case: Mapping[str, Any]) -> str:
    """Return the regime and seed that the case's arrays share."""
    for value in case.values():
        for item in value if isinstance(value, list) else [value]:
            if _is_array(item) and "regime" in item:
                return f"{item['regime']} values, seed {item.get('seed', 0)}"
    return ""


def index_text(name: str | None, index: Sequence[int] | None) -> str:
    """Return an element as Python would write it: "x[1, 2]"; "" without an index."""
    if index is None:
        return ""
    return f"{name or ''}[{', '.join(str(item) for item in index)}]"


def said_of(finding: Finding) -> str:
    """Return a finding in lines: the op with the message, what was expected, the case."""
    result = finding.result
    lines = [f"{finding.op.op}: {result.message or result.title}"]
    if result.expected is not None or result.actual is not None:
        lines.append(f"expected {value_text(result.expected)}, actual {value_text(result.actual)}")
    if result.case:
        lines.append(f"case: {case_text(result.case)}")
    return "\n".join(lines)


def place_of(result: CheckResult) -> str:
    """Return the elements that a finding names: "x[1, 2] -> y[0]"; "" where it names none."""
    evidence = result.evidence
    if evidence is None:
        return ""
    ends = (index_text(result.input, evidence.element), index_text(result.output, evidence.output_element))
    return " -> ".join(filter(None, ends))


def look_of(result: CheckResult) -> str:
    """Return how what was found looks, "" where the message says it."""
    pattern = result.evidence.pattern if result.evidence is not None else ""
    return pattern if pattern and pattern not in result.message else ""


def source_lines(where: Location | None, around: int = 2) -> list[tuple[int, str]]:
    """Return the lines around a location with their numbers, none where the file cannot be read."""
    if where is None or where.line <= 0:
        return []
    try:
        with Path(where.file).open(encoding="utf-8", errors="replace") as handle:
            lines = list(handle)
    except ValueError:
        return []
    except OSError:
        lines = linecache.getlines(where.file)  # a cell of a notebook is no file
    found = [
        (number, printable(line.rstrip("\r\n").expandtabs(4)))
        for number, line in enumerate(lines, 1)
        if abs(number - where.line) <= around
    ]
    return found if any(number == where.line for number, _ in found) else []
