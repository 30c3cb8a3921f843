"""Options: a number that forward does not read, and by which backward damps, bounds or lets through a gradient.

What an option changes in forward's results is compared; what it is called says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from opkit.checker.excuses.compare_again import again, holds, said_of, telling
from opkit.checker.model.agreement import same
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
