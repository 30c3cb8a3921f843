"""Options: a number that forward does not read, and by which backward damps, bounds or lets through a gradient.

What an option changes in forward's results is compared; what it is called says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from opkit.checker.excuses.compare_again import again, gone, holds, telling
from opkit.checker.model.agreement import same
from opkit.checker.model.case import Case
from opkit.checker.model.report import CheckResult
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import NONZERO


def unread(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse what holds next to 0 of a number that nothing declares, and that changes no bit of forward's results.

    A factor that backward has and forward lacks holds at 1 alone, and a wrong way that a flag selects at 0 alone:
    both stay failures.

    Args:
        session: of an op whose inputs were found.
        failed: by index.
    """
    cases = telling(session, failed)
    for attr in session.checkable.attrs:
        is_number = any(type(case.attrs.get(attr.name)) is float for case in cases)
        if not is_number or not (attr.is_required or attr.default == 0):
            continue
        without = [replace(case, attrs={**case.attrs, attr.name: NONZERO}) for case in cases]
        if not _are_alike(session, cases, without):
            continue
        results = again(session, session.checkable, without, failed)
        if holds(results):
            why = (
                f"it holds where {attr.name} is next to 0, and no value of it changes what forward returns: say which "
                "are meant with `def cases(rng)`, or with a default"
            )
            return dict.fromkeys(gone(failed, results), why)
    return {}


def _are_alike(session: CheckSession, cases: Sequence[Case], others: Sequence[Case]) -> bool:
    """Return whether forward gives the same on these cases as on the others, to the last bit."""
    run = session.checkable.forward
    try:
        return all(same(run(one.inputs, one.attrs), run(two.inputs, two.attrs), 0.0) for one, two in zip(cases, others))
    except Exception:  # user code
        return False
