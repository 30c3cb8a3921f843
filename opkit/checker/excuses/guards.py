"""Guards: what is wrong only behind a guard of forward, such as ``clip(p, 1e-7, 1 - 1e-7)`` (decision 0012).

A guard is seen in what forward does (edges). That nothing else is wrong is found by the check of gradients on values
that lie on its right side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opkit.checker.excuses.compare_again import again, brought, holds, said_of, telling, within_time
from opkit.checker.excuses.edges import Region, points_of, region_of
from opkit.checker.model.report import CheckResult, Status
from opkit.checker.model.session import CheckSession
from opkit.checker.model.thresholds import FEW


def guarded(session: CheckSession, failed: Mapping[int, CheckResult]) -> dict[int, str]:
    """Excuse failures behind a guard, where all is right before it.

    Each round finds the guard that one failure lies behind: a probability has two.

    Args:
        session: of an op whose inputs were found.
        failed: by index.
    """
    cases, regions = telling(session, failed), dict[str, Region]()
    wrong = list(failed.values())
    for _ in range(FEW):
        found = _found(session, wrong)
        if found is None:
            return {}
        regions[found.name] = found.within(regions.get(found.name, found))
        cases = [brought(case, found.name, regions[found.name].bring) for case in cases]
        results = again(session, session.checkable, cases, failed)
        wrong = [item for item in results if item.status is Status.FAIL]
        if holds(results):
            why = (
                f"a guard of forward explains it, for it holds where {' and '.join(map(str, regions.values()))}, and "
                "nothing says whether other values are meant: let backward leave them out as forward does, or say "
                "what inputs hold with `def cases(rng)`"
            )
            return said_of(failed, results, why)
    return {}


def _found(session: CheckSession, wrong: Iterable[CheckResult]) -> Region | None:
    for item in list(wrong)[:FEW]:
        for point in points_of(session, item) if item.code != "GC105" else ():
            within_time(session)
            region = region_of(point)
            if region is not None:
                return region
    return None
