"""ApiFact: a result of calling the functions of an API file with stubs, data that one process sends to another.

The calls are made in ``opkit.verify.trial``; here facts become findings with a position.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from opkit.diagnostics import Diagnostic, SourceText, Span
from opkit.project.api_remark import Remark, placed
from opkit.record import record
from opkit.spec import CompiledOp


@record
class ApiFact:
    """One fact.

    Args:
        remark: what is wrong.
        line: 1-based line of the API file.
        text: what to point at in that line or the two after it, "" for the whole line.
        attr: the attribute whose value it is about, "" for none.
    """

    remark: Remark
    line: int
    text: str = ""
    attr: str = ""


def facts_as_findings(
    source: SourceText, facts: Iterable[ApiFact], ops: Mapping[str, CompiledOp], known: Collection[Diagnostic]
) -> list[Diagnostic]:
    """Return facts as findings, without those that were already found by reading the file.

    Args:
        source: the API file.
        facts: what was found by calling its functions.
        ops: the definitions that compiled.
        known: the findings so far.
    """
    said = {(item.code, item.message) for item in known}
    found: list[Diagnostic] = []
    for fact in facts:
        remark = fact.remark
        if (remark.code, remark.message) in said:
            continue
        said.add((remark.code, remark.message))
        found.append(placed(remark, _span(source, fact), ops.get(remark.subject)))
    return found


def _span(source: SourceText, fact: ApiFact) -> Span:
    for line in range(fact.line, fact.line + 3):
        text = source.line(line)
        if fact.text and fact.text in text:
            start = source.offset(line, text.index(fact.text) + 1)
            return source.span(start, start + len(fact.text))
    text = source.line(fact.line)
    start = source.offset(fact.line, len(text) - len(text.lstrip()) + 1)
    return source.span(start, max(start, source.offset(fact.line, len(text.rstrip()) + 1)))
