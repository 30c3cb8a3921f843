"""Surrogates: a gradient that stands in for forward's own, which is a step or the identity, as in straight-through.

Seen in what forward does on every case; whether it is meant is for SURROGATE to say.

Options: a number that forward does not read, and by which backward damps, bounds or lets through a gradient.

What an option changes in forward's results is compared; what it is called says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from opkit.checker.excuses.compare_again import again, holds, said_of, telling, within_time
from opkit.checker.model.agreement import is_close, same
from opkit.checker.model.evaluate import Evaluator, InputLeaf
from opkit.checker.model.numbers import typical
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.checker.model.steps import is_step, result_at
from opkit.checker.model.thresholds import NONZERO, RATIO


def surrogates(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse the wrong gradients of each output of which forward is a step, or the identity, in what fails for it.

    Args:
        session: of the check.
        failed: by index.
    """
    found: dict[str, str] = {}
    wrong = {(item.input, item.output) for item in failed.values()}
    for leaf in dict.fromkeys(leaf for ev in session.evaluators for leaf in ev.leaves):
        within_time(session)
        outputs = {output for name, output in wrong if name == str(leaf)}  # None: of a result of all of them
        said = dict(_standing_in(session, leaf)) if outputs else {}
        found = {output: what for output, what in said.items() if outputs & {output, None}} | found
    excused: dict[int, str] = {}
    for index, item in failed.items():
        what = found.get(item.output) if item.output else next(iter(found.values()), None)
        if what is not None:
            excused[index] = f"{what}; {_line(session, failed)}"
    return excused


def _line(session: CheckSession, failed: Mapping[int, CheckResult]) -> str:
    """Return the words that show the line by which it is declared."""
    key = session.checkable.key
    codes = sorted({item.code for item in failed.values()} | session.checkable.allow.keys())
    allowed = f"{key('ALLOW')} = {dict.fromkeys(codes, 'why')}"
    if any(code in ("GC110", "GC111") for code in codes):  # no function has a derivative that is not linear
        return f"if that is meant, say so: {allowed}"
    return (
        "if backward is meant to stand in for it, name the function whose derivative it is: "
        f'{key("SURROGATE")} = {{"forward": function}}; where there is none, {allowed}'
    )


def _standing_in(session: CheckSession, leaf: InputLeaf) -> Iterator[tuple[str, str]]:
    """Yield the outputs of which forward is a step or the identity in an input, with the words for it."""
    evaluators = [ev for ev in session.ordinary() if leaf in ev.leaves and not ev.case.is_empty]
    for slot in evaluators[0].slots if evaluators else ():
        output = session.output_name(slot)
        others = [ev for ev in evaluators if not _is_same(ev, leaf, slot)]
        if not others:
            yield output, f"forward returns {leaf} as it is"
        elif all(is_step(ev, leaf, slot) for ev in others):
            beside = f", or returns {leaf} as it is" if len(others) < len(evaluators) else ""
            yield output, f"forward is a step of {leaf}, of derivative 0{beside}"


def _is_same(ev: Evaluator, leaf: InputLeaf, slot: int) -> bool:
    """Return whether an output is the input, here and at other values that forward takes."""
    array = ev.array(leaf)
    moved = (array, -array, RATIO * array, array + (typical(array) or 1.0))
    results = [(item, result_at(ev, leaf, item, slot)) for item in moved]
    return all(result is None or is_close(result, item) for item, result in results)


def unread(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse what holds next to 0 of a number that nothing declares, and that changes no bit of forward's results.

    A factor that backward has and forward lacks holds at 1 alone, and a wrong way that a flag selects at 0 alone:
    both stay failures.

    Args:
        session: of an op whose inputs were found.
        failed: by index.
    """
    cases, op = telling(session, failed), session.checkable
    for attr in op.attrs:
        if not attr.is_required and repr(attr.default) != "0.0":
            continue
        without = [replace(case, attrs={**case.attrs, attr.name: NONZERO}) for case in cases]
        results = again(session, op, without, failed)
        is_unread = (
            same(op.forward(one.inputs, one.attrs), op.forward(two.inputs, two.attrs), 0.0)
            for one, two in zip(cases, without)
        )
        if holds(results) and all(is_unread):
            why = (
                f"it holds where {attr.name} is next to 0, and no value of it changes what forward returns: say which "
                "are meant with `def cases(rng)`, or with a default"
            )
            return said_of(failed, results, why)
    return {}
