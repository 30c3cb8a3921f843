"""A run as JUnit XML: a suite per op, a test case per check.

This format has no colours, plots or source lines.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from opkit.checker import CheckResult, OpReport, Status
from opkit.reporters.run import RunView, heading
from opkit.reporters.values import case_text, value_text

#: Characters that XML 1.0 cannot hold, and others that a terminal would act on.
_ILLEGAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def junit_report(run: RunView) -> str:
    """Return the run as JUnit XML, with a line end.

    A failed check is a ``failure``, one that raised an ``error``, an undecided or skipped one ``skipped``.
    """
    root = ElementTree.Element("testsuites", name=f"opkit {run.report.command}")
    suites = [_suite(root, op) for op in run.report.ops]
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in suites)))
    root.set("time", f"{run.seconds:.3f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _suite(root: ElementTree.Element, op: OpReport) -> ElementTree.Element:
    suite = ElementTree.SubElement(root, "testsuite", name=_clean(op.op), time=f"{op.seconds:.3f}")
    for result in op.checks:
        _case(suite, op, result)
    suite.set("tests", str(len(op.checks)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    rests = [f"based on {op.rests_on}"] if op.rests_on else []
    if op.notes or op.tried or rests:
        output = ElementTree.SubElement(suite, "system-out")
        output.text = _clean("\n".join((*rests, *op.notes, *op.tried)))
    return suite


def _case(suite: ElementTree.Element, op: OpReport, result: CheckResult) -> None:
    case = ElementTree.SubElement(suite, "testcase", classname=_clean(op.op), name=_clean(heading(result)), time="0")
    if result.where is not None:
        case.set("file", _clean(result.where.file))
        case.set("line", str(result.where.line))
    if result.status in (Status.FAIL, Status.ERROR):
        tag = "failure" if result.status is Status.FAIL else "error"
        node = ElementTree.SubElement(case, tag, type=result.code, message=_clean(result.message))
        node.text = _clean(_details(result))
    elif result.status is not Status.PASS:
        said = "undecided: " if result.status is Status.UNDECIDED else ""
        ElementTree.SubElement(case, "skipped", message=_clean(said + result.message))


def _details(result: CheckResult) -> str:
    lines = [result.message]
    if result.expected is not None or result.actual is not None:
        bound = f" within {result.bound:.2g}" if isinstance(result.bound, float) else ""
        lines += [f"expected {value_text(result.expected)}{bound}", f"actual   {value_text(result.actual)}"]
    if result.case:
        lines.append(f"case     {case_text(result.case)}")
    if result.where is not None:
        lines.append(f"at       {result.where}")
    return "\n".join(lines)


def _clean(text: str) -> str:
    return _ILLEGAL.sub("\N{REPLACEMENT CHARACTER}", text)
