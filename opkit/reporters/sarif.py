"""Findings in SARIF 2.1.0, the format that code-scanning services accept.

Passed checks are not mentioned, unless they come with a line to add; the rules are those that the findings name.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from opkit.checker import Status
from opkit.checker.model.case import plain
from opkit.diagnostics import Diagnostic, Severity, Span, explain
from opkit.errors import Location, UsageError
from opkit.reporters.json_form import json_text
from opkit.reporters.run import Finding, RunView, findings, remarks, subject
from opkit.reporters.values import said_of
from opkit.version import __version__

_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def sarif_report(run: RunView) -> str:
    """Return the findings of a run as a SARIF 2.1.0 log, with a line end."""
    found = [*findings(run, Status.FAIL, Status.ERROR, Status.UNDECIDED), *remarks(run)]
    results = [*map(_of_diagnostic, run.diagnostics), *map(_of_finding, found)]
    titles = {finding.result.code: finding.result.title for finding in found}
    return _log(results, titles, is_successful=not run.is_interrupted)


def sarif_diagnostics(diagnostics: Iterable[Diagnostic]) -> str:
    """Return diagnostics as a SARIF 2.1.0 log, for ``opkit build``."""
    return _log(list(map(_of_diagnostic, diagnostics)), {}, is_successful=True)


def _log(results: Sequence[dict[str, Any]], titles: dict[str, str], *, is_successful: bool) -> str:
    codes = sorted({result["ruleId"] for result in results})
    for result in results:
        result["ruleIndex"] = codes.index(result["ruleId"])
    driver = {
        "name": "opkit",
        "semanticVersion": __version__,
        "rules": [_rule(code, titles.get(code, "")) for code in codes],
    }
    log = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "invocations": [{"executionSuccessful": is_successful}],
                "results": list(results),
            }
        ],
    }
    return json_text(log)


def _rule(code: str, title: str) -> dict[str, Any]:
    rule: dict[str, Any] = {"id": code}
    page = ""
    with contextlib.suppress(UsageError):
        page = explain(code)
    if not title and page:
        title = page.splitlines()[0].lstrip("# ").strip()
    if title:
        rule["shortDescription"] = {"text": title}
    if page:
        rule["help"] = {"text": page, "markdown": page}
    return rule


def _of_finding(finding: Finding) -> dict[str, Any]:
    result = finding.result
    text = said_of(finding) + (f"\n{result.hint}" if result.status is Status.PASS else "")
    name = f"{finding.op.op}/{subject(result)}" if subject(result) else finding.op.op
    location: dict[str, Any] = {"logicalLocations": [{"fullyQualifiedName": name, "kind": "function"}]}
    if result.where is not None:
        location["physicalLocation"] = _place(result.where)
    properties: dict[str, Any] = {key: plain(getattr(result, key)) for key in ("expected", "actual", "bound", "case")}
    return {
        "ruleId": result.code,
        "level": {Status.UNDECIDED: "warning", Status.PASS: "note"}.get(result.status, "error"),
        "message": {"text": text},
        "locations": [location],
        "partialFingerprints": {"opkit/v1": _fingerprint(result.code, name)},
        "properties": {
            **properties,
            "status": result.status.value,
            **({"repro": finding.repro} if finding.repro else {}),
        },
    }


def _of_diagnostic(item: Diagnostic) -> dict[str, Any]:
    text = item.message + (f"\nhelp: {item.help}" if item.help else "")
    result: dict[str, Any] = {"ruleId": item.code, "level": _LEVEL[item.severity], "message": {"text": text}}
    if item.span is not None:
        result["locations"] = [{"physicalLocation": _span(item.span)}]
        result["partialFingerprints"] = {"opkit/v1": _fingerprint(item.code, item.span.path, item.span.text)}
    related = [(note.message, _span(note.span)) for note in item.notes if note.span is not None]
    if related:
        result["relatedLocations"] = [
            {"id": index, "message": {"text": text}, "physicalLocation": place}
            for index, (text, place) in enumerate(related)
        ]
    return result


def _place(where: Location) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(where.file)}}
    if where.line > 0:
        place["region"] = {"startLine": where.line, **({"startColumn": where.col} if where.col > 0 else {})}
    return place


def _span(span: Span) -> dict[str, Any]:
    return {
        "artifactLocation": {"uri": _uri(span.path)},
        "region": {
            "startLine": span.line,
            "startColumn": span.col,
            "endLine": span.end_line,
            "endColumn": max(span.end_col, span.col + 1) if span.line == span.end_line else span.end_col,
        },
    }


def _uri(path: str) -> str:
    """Return a path as a URI: relative where the path is."""
    named = quote(os.fsencode(Path(path).as_posix()) if _is_a_name(path) else path.encode("utf-8", "replace"))
    return f"file://{'' if named.startswith('/') else '/'}{named}" if os.path.isabs(path) else named


def _is_a_name(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def _fingerprint(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()[:32]
