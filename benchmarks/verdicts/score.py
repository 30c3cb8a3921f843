"""Scores: of one kind of op, what each checker found and accused, by groups of faults."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.compared.table import Entry

__all__ = ["NOT_FOR", "Count", "Score", "scores_of"]

#: What a checker looks at, and what it does not set out to find; a fault of that sort is no mistake of the checker's.
NOT_FOR = {
    "opkit": "gradients, and what a framework asks of a function; not made for a wrong forward without a REFERENCE",
    "torch slow": "the Jacobian at the inputs given; not made for dtypes, layouts, writes, state, kinks",
    "torch fast": "the same along one random direction; not made for one wrong entry among many",
    "torch tight": "the same with narrow tolerances; not made for kinks and coarse arithmetic, which it accuses",
    "opcheck": "how a library op is registered (schema, fake kernel); not made for the numbers of a gradient",
    "autograd check_grads": "the same along random directions; not made for one wrong entry among many",
    "jax check_grads": "the same along random directions, with wide tolerances; not made for small factors",
    "jax tight": "the same with narrow tolerances; not made for kinks and coarse arithmetic, which it accuses",
}


@dataclass(frozen=True, slots=True)
class Count:
    """Of one checker in one group: how many it accused, of how many that it takes."""

    accused: int
    total: int


@dataclass(frozen=True, slots=True)
class Score:
    """One kind of op.

    Args:
        kind: "directories", "torch" or "jax".
        checkers: in the order of the columns.
        faults: {group of faults: {checker: count}}.
        right: {group of right ops: {checker: count}}; whatever is accused there is a false alarm.
        seconds: {checker: seconds of the processor for an op, on average}.
    """

    kind: str
    checkers: Sequence[str]
    faults: dict[str, dict[str, Count]]
    right: dict[str, dict[str, Count]]
    seconds: dict[str, float]

    def total(self, side: dict[str, dict[str, Count]], checker: str) -> Count:
        """Return the sum over the groups."""
        found = [group[checker] for group in side.values() if checker in group]
        return Count(sum(item.accused for item in found), sum(item.total for item in found))

    def markdown(self) -> str:
        """Return the kind's table: a row for each group, the sums, seconds; below it, what each is not made for."""
        rows = [f"| {self.kind} | " + " | ".join(self.checkers) + " |", "|---|" + "---|" * len(self.checkers)]
        for name, group in self.faults.items():
            rows.append(f"| {name} | " + " | ".join(_cell(group.get(item)) for item in self.checkers) + " |")
        for name, side in (("**faults found**", self.faults), ("**right ones accused**", self.right)):
            rows.append(f"| {name} | " + " | ".join(_cell(self.total(side, item)) for item in self.checkers) + " |")
        rows.append("| seconds an op | " + " | ".join(f"{self.seconds[item]:.2f}" for item in self.checkers) + " |")
        notes = [f"- {item}: {NOT_FOR[item]}." for item in self.checkers]
        return "\n".join([*rows, "", *notes])

    def to_json(self) -> dict[str, Any]:
        """Return the same as data."""
        sides = {"faults": self.faults, "right": self.right}
        return {
            "kind": self.kind,
            "seconds": self.seconds,
            "not_for": {item: NOT_FOR[item] for item in self.checkers},
            **{
                side: {name: {who: [n.accused, n.total] for who, n in group.items()} for name, group in groups.items()}
                for side, groups in sides.items()
            },
        }


def _cell(count: Count | None) -> str:
    return "" if count is None or not count.total else f"{count.accused} of {count.total}"


def scores_of(kind: str, entries: Iterable[Entry]) -> list[Score]:
    """Return the score of a kind; none where nothing was measured."""
    items = list(entries)
    checkers = list(dict.fromkeys(item.checker for item in items))
    sides: dict[bool, dict[str, dict[str, Count]]] = {True: {}, False: {}}
    for item in items:
        if item.is_accused is None:  # the checker does not take it
            continue
        group = sides[item.is_faulty].setdefault(item.group, {})
        before = group.get(item.checker, Count(0, 0))
        group[item.checker] = Count(before.accused + bool(item.is_accused), before.total + 1)
    seconds = {}
    for checker in checkers:
        taken = [item.seconds for item in items if item.checker == checker and item.is_accused is not None]
        seconds[checker] = sum(taken) / max(len(taken), 1)
    return [Score(kind, checkers, sides[True], sides[False], seconds)] if items else []
