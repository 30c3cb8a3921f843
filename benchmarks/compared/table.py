"""Table: which checker accused which op, by groups of ops, and what it took."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import process_time

__all__ = ["Table"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One op under one checker; ``is_accused`` is None where the checker does not take it."""

    op: str
    group: str
    is_faulty: bool
    checker: str
    is_accused: bool | None
    seconds: float


@dataclass(slots=True)
class Table:
    """All entries of a comparison.

    Args:
        name: what is compared.
    """

    name: str
    entries: list[Entry] = field(default_factory=list)

    @contextmanager
    def timed(self, op: str, group: str, is_faulty: bool, checker: str) -> Iterator[list[bool | None]]:
        """Time a checker on an op; the verdict is put into the list that is given."""
        verdict: list[bool | None] = []
        begun = process_time()
        yield verdict
        seconds = process_time() - begun
        self.entries.append(Entry(op, group, is_faulty, checker, verdict[0], seconds))

    def only_by_others(self, ours: str = "opkit") -> dict[str, list[str]]:
        """Return the faulty ops that some other checker accuses and ours does not, with the checkers that do."""
        found: dict[str, list[str]] = {}
        mine = {item.op for item in self.entries if item.checker == ours and item.is_accused}
        for item in self.entries:
            if item.is_faulty and item.is_accused and item.op not in mine:
                found.setdefault(item.op, []).append(item.checker)
        return found

    def missed(self, ours: str = "opkit") -> list[str]:
        """Return the ops whose verdict by our checker is the wrong one."""
        return [item.op for item in self.entries if item.checker == ours and item.is_accused != item.is_faulty]

    def markdown(self) -> str:
        """Return the table: a row for each group of faults, their sum, the correct ops, and seconds an op."""
        checkers = list(dict.fromkeys(item.checker for item in self.entries))
        lines = [f"| {self.name} | of | {' | '.join(checkers)} |", f"|---|---|{'---|' * len(checkers)}"]
        faulty = [item for item in self.entries if item.is_faulty]
        right = [item for item in self.entries if not item.is_faulty]
        lines += [_row(group, items, checkers) for group, items in _grouped(faulty).items()]
        lines.append(_row("**faults found**", faulty, checkers, bold=True))
        lines += [_row(f"{group} rejected", items, checkers) for group, items in _grouped(right).items()]
        times = {name: [item.seconds for item in self.entries if item.checker == name] for name in checkers}
        middles = [f"{statistics.median(times[name]):.2f}" for name in checkers]
        return "\n".join([*lines, f"| median seconds an op | | {' | '.join(middles)} |"])


def _grouped(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    found: dict[str, list[Entry]] = {}
    for item in entries:
        found.setdefault(item.group, []).append(item)
    return found


def _row(title: str, entries: Sequence[Entry], checkers: Sequence[str], bold: bool = False) -> str:
    cells = []
    for checker in checkers:
        given = [item.is_accused for item in entries if item.checker == checker and item.is_accused is not None]
        text = str(sum(given)) if given else "-"
        cells.append(f"**{text}**" if bold else text)
    of = len({item.op for item in entries})
    return f"| {title} | {of} | {' | '.join(cells)} |"
