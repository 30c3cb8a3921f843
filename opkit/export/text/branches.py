"""Branches: the bodies of several examples as one, told apart by what is known of the examples.

What differs becomes a branch; what all took for granted becomes a guard.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.export.trace.graph import UntraceableError
from opkit.record import record

#: Branches that a function may have; more than these are not code that anyone would read.
MOST_BRANCHES = 12
_TELLS_NOTHING = 10**6
#: Ranks at which one text held, so that it is taken to hold for all.
_MANY_RANKS = 3


@record
class Body:
    """The body of a function at one example.

    Args:
        lines: its statements.
        features: what tells it from others, {condition as text: answer}.
        ranks: the features that are ranks on which the body rests.
        natural: the features that are true of the arguments themselves; they need no guard.
    """

    lines: tuple[str, ...]
    features: dict[str, Any]
    ranks: frozenset[str] = frozenset()
    natural: frozenset[str] = frozenset()


def merged(traced: Sequence[Body], label: str) -> list[str]:
    """Return one body for several: with guards for what they all depend on, and branches where they differ.

    Args:
        traced: the bodies, one per example.
        label: what the function is called in messages.

    Raises:
        UntraceableError: nothing that is known of the examples tells the bodies apart, or too many branches are needed.
    """
    bodies = list(dict.fromkeys(item.lines for item in traced))
    if len(bodies) > MOST_BRANCHES:
        raise UntraceableError(f"would need {len(bodies)} branches for its ranks, sizes and attributes")
    lines = _split(list(traced), label, frozenset())
    if sum(line.lstrip().startswith("return ") for line in lines) > 2 * MOST_BRANCHES:
        raise UntraceableError("would need more branches than anyone would read")
    return lines


def _guards(traced: Sequence[Body], label: str, decided: frozenset[str]) -> list[str]:
    """Return checks of what had the same answer in every trace: conditions, and ranks where few were seen."""
    lines: list[str] = []
    common = set.intersection(*(set(item.features) for item in traced)) if traced else set()
    for text in (key for key in traced[0].features if key in common):
        answers = {item.features[text] for item in traced}
        is_rank = any(text in item.ranks for item in traced)
        if is_rank and text not in decided and len(answers) < _MANY_RANKS:
            ranks = ", ".join(str(item) for item in sorted(answers)) + ("," if len(answers) == 1 else "")
            lines += [
                f"if {text} not in ({ranks}):",
                f'    raise NotImplementedError(f"{label} was traced for {text} in ({ranks}), not {{{text}}}")',
            ]
        if len(answers) == 1 and not any(text in item.natural for item in traced) and text not in decided:
            (answer,) = answers
            if not isinstance(answer, bool):
                lines += [
                    f"if {text} != {answer!r}:",
                    f'    raise NotImplementedError(f"{label} was traced for {text} {answer}, not {{{text}}}")',
                ]
                continue
            lines += [
                f"if {f'not ({text})' if answer else text}:",
                f'    raise NotImplementedError("{label} was traced only where '
                f'{text.replace(chr(34), chr(39))} is {answer}")',
            ]
    return lines


def _split(traced: list[Body], label: str, decided: frozenset[str]) -> list[str]:
    """Return guards and an if-chain over the feature that tells the bodies apart best."""
    bodies = list(dict.fromkeys(item.lines for item in traced))
    if len(bodies) == 1:
        return [*_guards(traced, label, decided), *bodies[0]]
    common = [key for key in traced[0].features if all(key in item.features for item in traced)]
    best = min(common, key=lambda key: _impurity(traced, key), default=None)
    if best is None or _impurity(traced, best) == _TELLS_NOTHING:
        raise UntraceableError("does what depends on more than ranks, dtypes and what it asks of sizes and attributes")
    answers = sorted({item.features[best] for item in traced}, key=repr)
    groups = {answer: [item for item in traced if item.features[best] == answer] for answer in answers}
    lines: list[str] = []
    if set(answers) <= {True, False} and all(isinstance(item, bool) for item in answers):
        return [
            f"if {best}:",
            *("    " + line for line in _split(groups[True], label, decided | {best})),
            *_split(groups[False], label, decided | {best}),
        ]
    for answer, items in groups.items():
        lines.append(f"if {_condition(best, answer)}:")
        lines += ["    " + line for line in _split(items, label, decided | {best})]
    shown = ", ".join(str(item) for item in answers)
    lines.append(f'raise NotImplementedError(f"{label} was traced for {best} {shown}, not {{{best}}}")')
    return lines


def _condition(key: str, answer: Any) -> str:
    if key.endswith(".dtype"):
        return f'str({key}).endswith("{answer}")'
    return f"{key} == {answer!r}"


def _impurity(traced: Sequence[Body], key: str) -> int:
    """Return how many bodies the largest group of a feature still has; a feature with one answer tells nothing."""
    groups: dict[Any, set[tuple[str, ...]]] = {}
    for item in traced:
        groups.setdefault(item.features[key], set()).add(item.lines)
    if len(groups) == 1:
        return _TELLS_NOTHING
    return max(len(bodies) for bodies in groups.values())
