"""A run as text for a terminal, readable at 80 columns with and without colour.

Returns strings; printing them is left to the command line.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from opkit.checker import CheckResult, OpReport, Status
from opkit.diagnostics import render_text
from opkit.errors import Location
from opkit.record import record
from opkit.reporters.run import Finding, RunView, counts, findings, heading, printable_op, subject
from opkit.reporters.values import case_text, look_of, place_of, printable, source_lines, value_text

_STYLE = {
    Status.PASS: "green",
    Status.FAIL: "bold red",
    Status.ERROR: "bold red",
    Status.UNDECIDED: "yellow",
    Status.SKIP: "dim",
}


#: Checks of one op after which findings are counted: nobody reads a thousand, and each takes its time.
_MOST = 300


@record
class _Page:
    """The lines of a report, wrapped here and printed together: each print, and each box, takes rich its time."""

    console: Console
    width: int
    lines: list[Text]
    shown: set[Location]

    def put(self, text: Text | str, indent: int = 0) -> None:
        """Add a text, wrapped behind its indent."""
        self.beside(Text(" " * indent), text if isinstance(text, Text) else Text(text))

    def beside(self, head: Text, text: Text, tail: str = "") -> None:
        """Add a text, wrapped beside a head that stands in its first line alone, and what ends that line."""
        room = max(self.width - head.cell_len - len(tail), 1)
        for number, line in enumerate(text.wrap(self.console, room, overflow="fold")):
            if tail and not number:
                line.rstrip()
                line.pad_right(room - line.cell_len)
                line.append(tail, "dim")
            self.lines.append((Text(" " * head.cell_len) if number else head) + line)

    def print(self) -> None:
        """Print what was added."""
        self.console.print(Text("\n").join(self.lines), soft_wrap=True)
        self.lines.clear()
        self.shown.clear()


def text_report(run: RunView, *, width: int = 80, is_colored: bool = False, is_verbose: bool = False) -> str:
    """Render a run as text.

    Args:
        run: what happened.
        width: columns.
        is_colored: whether the text may hold colours (a terminal, and no NO_COLOR).
        is_verbose: also show every check that passed and what was tried.
    """
    sink = io.StringIO()
    console = Console(
        file=sink,
        width=max(width, 40),
        force_terminal=is_colored,
        color_system="standard" if is_colored else None,
        no_color=not is_colored,
        highlight=False,
        emoji=False,
        markup=False,
        soft_wrap=False,
        legacy_windows=False,
        force_jupyter=False,  # in a notebook it would display what it is to write
    )
    if run.diagnostics:
        console.out(render_text(run.diagnostics), highlight=False)
    page = _Page(console, console.width, [], set())
    for place, op in enumerate(run.report.ops):
        _op(page, run, place, printable_op(op), is_verbose)
        page.print()
    _summary(page, run)
    page.print()
    return "".join(f"{line.rstrip()}\n" for line in sink.getvalue().split("\n")[:-1])


def _op(page: _Page, run: RunView, place: int, op: OpReport, is_verbose: bool) -> None:
    _heading(page, op)
    broken = sum(result.check == "build" for result in op.checks)
    if broken:
        text = f"does not build: {broken} error{'s' if broken != 1 else ''}, shown above"
        page.put(text, 10)
    if said := held(op):
        page.put(Text(said, style="dim"), 10)
    elif op.status is Status.SKIP and op.undifferentiated is not None:
        page.put(Text(op.undifferentiated.message, style="dim"), 10)
    if op.rests_on and op.status in (Status.PASS, Status.UNDECIDED):
        page.put(Text(f"based on {op.rests_on}", style="dim"), 10)
    left_out: Counter[str] = Counter()
    for index, result in enumerate(op.checks):
        if index >= _MOST and result.status is not Status.PASS and not is_verbose:
            left_out[result.code] += 1
            continue
        finding = Finding(op, result, run.saved.get((place, index), ""))
        if result.check == "build" and run.diagnostics:
            continue  # shown above, with the source
        if result.status in (Status.FAIL, Status.ERROR):
            _finding(page, finding)
        elif result.status is Status.UNDECIDED:
            _undecided(page, result)
        elif is_verbose and f"{result.message}:\n{result.hint}" not in op.notes:
            _line(page, result)
        elif result.check == "power":
            page.put(Text.assemble(("power ", "cyan"), result.message), 2)
    if left_out:
        said = ", ".join(f"{code} {count} times" for code, count in sorted(left_out.items()))
        more = f"{left_out.total()} further findings: {said}; --verbose and --report json=FILE have them"
        page.put("")
        page.put(Text(more, style="yellow"), 2)
    for note in op.notes:
        page.put(Text.assemble(("note ", "cyan"), note), 2)
    if is_verbose:
        for tried in op.tried:
            page.put(Text.assemble(("tried ", "dim"), tried), 2)
    if op.findings:
        page.put("")


def _heading(page: _Page, op: OpReport) -> None:
    """Add the op's line: status, name, directory, time."""
    name = Text(op.op, style="bold")
    if op.dir:
        name.append(f"  {op.dir}", style="dim")
    page.beside(Text(f"{_word(op.status):<9} ", style=_STYLE[op.status]), name, f" {op.seconds:.2f} s")


def _word(status: Status) -> str:
    word = str(status.value)
    return word.upper() if status in (Status.FAIL, Status.ERROR) else word


def held(op: OpReport) -> str:
    """Return one line about how many checks of a pass hold, on how many cases, and the smallest error they would see.

    "" where it is not a pass.
    """
    if op.status is not Status.PASS:
        return ""
    passed = [result for result in op.checks if result.status is Status.PASS and not result.hint]
    text = f"{len(passed)} check{' holds' if len(passed) == 1 else 's hold'}"
    tried = max((result.cases for result in op.checks), default=0)
    if tried:
        text += f" on up to {tried} case{'s' if tried != 1 else ''}"
    return text if op.detectable is None else f"{text}; {_would_have_seen(op.detectable)}"


def _would_have_seen(detectable: float) -> str:
    return f"would have seen a derivative off by {detectable:.1e} of its size"


def _finding(page: _Page, finding: Finding) -> None:
    result = finding.result
    page.put("")
    page.put(Text.assemble((_word(result.status), _STYLE[result.status]), f" {heading(result)}"), 2)
    if result.message:
        page.put(result.message, 4)
    rows = list(_rows(result))
    names = max((len(name) for name, _ in rows), default=0)
    for name, value in rows:
        page.beside(Text(f"    {name:<{names}} ", style="dim"), Text(value))
    _source(page, result)
    _next_step(page, finding)


def _rows(result: CheckResult) -> Iterable[tuple[str, str]]:
    if at := place_of(result):
        yield "at", at
    if result.expected is not None or result.actual is not None:
        bound = f"  within {result.bound:.2g}" if isinstance(result.bound, float) else ""
        yield "expected", value_text(result.expected) + bound
        if result.actual is not None:
            yield "actual", value_text(result.actual)
    if case := case_text(result.case):
        yield "case", printable(case)
    if looks := look_of(result):
        yield "looks", looks
    if result.hint:
        yield "hint", result.hint
    if result.consequences:
        codes = ", ".join(sorted({item.code + " again" * (item.code == result.code) for item in result.consequences}))
        yield "from this", f"{len(result.consequences)} further finding{'s' * (len(result.consequences) > 1)}: {codes}"


def _source(page: _Page, result: CheckResult) -> None:
    where = result.where
    if where is None:
        return
    text = Text.assemble(("   --> ", "cyan"), printable(str(where)))
    if where in page.shown:
        text.append(", shown above")
    for number, line in () if where in page.shown else source_lines(where):
        mark = ">" if number == where.line else " "
        text.append(f"\n{mark}{number:>6} | ", "cyan")
        room = max(page.width - 11, 20)
        text.append(line if len(line) <= room else f"{line[: room - 3]}...")
    page.shown.add(where)
    page.lines.append(text)


def _next_step(page: _Page, finding: Finding) -> None:
    steps = f"opkit explain {finding.result.code}"
    if finding.repro:
        steps += f"   opkit gradcheck --repro {finding.repro}"
    page.put(Text.assemble(("help: ", "cyan"), steps), 4)


def _undecided(page: _Page, result: CheckResult) -> None:
    said = f": {result.message}" if result.message else ""
    page.put(Text.assemble(("undecided ", "yellow"), heading(result), said), 2)
    if case := case_text(result.case):
        page.beside(Text("    case ", style="dim"), Text(printable(case)))


def _line(page: _Page, result: CheckResult) -> None:
    about = subject(result)
    text = Text.assemble((f"{result.status.value:<9} ", _STYLE[result.status]), f"{result.code} {result.title}")
    if about:
        text.append(f" ({about})")
    details = [f"{result.cases} cases"] if result.cases else []
    if result.detectable is not None:
        details.append(_would_have_seen(result.detectable))
    if details:
        text.append(f"; {', '.join(details)}", style="dim")
    if result.message:
        text.append(f": {result.message}", style="dim")
    if result.hint and result.status is Status.PASS:
        text.append(f":\n{result.hint}", style="dim")
    page.put(text, 2)


def _summary(page: _Page, run: RunView) -> None:
    parts = [counts(run.report)]
    failed = sum(1 for _ in findings(run, Status.FAIL, Status.ERROR))
    if failed:
        parts.append(f"{failed} finding{'s' if failed != 1 else ''}")
    text = Text(", ".join(parts), style="bold")
    text.append(f"  ({run.seconds:.2f} s, seed {run.report.seed})", style="dim")
    page.put(text)
    if run.is_interrupted:
        page.put(Text("interrupted: only results up to then are shown", style="yellow"))
