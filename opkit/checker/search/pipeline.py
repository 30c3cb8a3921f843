"""Pipeline: the steps of a search for cases, which asks an op's infer function and its forward what they take.

Shapes first, then attributes, then regimes of values; everything follows from the seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np

from opkit.checker.model.budget import Spent
from opkit.checker.model.case import Case
from opkit.checker.model.checkable import Checkable
from opkit.checker.model.options import Options
from opkit.checker.model.report import CheckResult
from opkit.checker.model.thresholds import FEW, FIRST_SECONDS, LEAST_EFFORT, MOST_SHAPES, PATIENCE, SEED, SLOW_FIRST
from opkit.checker.model.trial import Trial
from opkit.checker.search import sweeps
from opkit.checker.search.near_recorded import Near
from opkit.checker.search.table import Table, Unserved
from opkit.checker.search.usual_shapes import UsualShapes
from opkit.errors import KernelError
from opkit.record import mutable


@mutable
class Collected:
    """Cases of one op, and what went wrong in finding them.

    Args:
        cases: accepted by forward; of those that were searched the most natural first.
        findings: results to report at once (forward raises, the cases file is wrong).
        notes: for the report.
        dtype: what most is checked in.
        claims_float64: whether float64 is promised (by the spec or by a float64 case), or merely possible.
        domain: which numbers all inputs hold, where search found it out and they hold the same.
        large: one case with many elements.
        table: what backward answers on each kind, None where that is declared.
        unlike: options of another sign than their defaults' for which backward is wrong.
    """

    cases: list[Case] = field(default_factory=list)
    findings: list[CheckResult] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    dtype: str = "float64"
    claims_float64: bool = True
    domain: str | None = None
    large: Case | None = None
    table: Table | None = None
    unlike: Sequence[Unserved] = ()


def first_cases(
    checkable: Checkable, options: Options, most: int, seconds: float = FIRST_SECONDS, trials: int = MOST_SHAPES
) -> list[Case]:
    """Return some cases of usual shapes that forward takes, none where it takes none of them: a short search.

    A forward that breaks a rule of its own (``KernelError``) has taken its inputs. Nothing is tried after these seconds
    (see ``Spent``), nor after FIRST_SECONDS; where calls take long and something was taken, nor after SLOW_FIRST.
    """
    end = min(seconds, FIRST_SECONDS)
    trial = Trial(checkable, min(end, SLOW_FIRST), end, most=trials, give_up=end, clock=Spent())
    attrs = {**checkable.default_attrs, **options.attrs}
    found = UsualShapes(checkable, options, trial, checkable.starts_in).accepted(attrs, most, 0, PATIENCE)
    broken = [case for case, error in trial.errors if isinstance(error, KernelError)]
    return [*found, *broken][:most]


def search(checkable: Checkable, options: Options, trial: Trial) -> Collected:
    """Search cases for an op: in proportion to the effort.

    With more effort the search is repeated with other values; with less, fewer shapes are searched, and with less than
    LEAST_EFFORT a share of the cases is kept, of all kinds.

    Args:
        checkable: the op.
        options: seed, effort, and what the user fixed.
        trial: counts what is tried.
    """
    found = _round(checkable, options, trial)
    if options.effort < LEAST_EFFORT:
        every = len(found.cases)
        count = min(max(FEW, round(options.effort / LEAST_EFFORT * every)), every)
        kept = [found.cases[place * every // count] for place in range(count)]  # they are sorted by kind
        found.notes.append(f"effort {options.effort:g}: {count} of {every} cases were kept")
        found.cases, found.large = kept, None
        return found
    for number in range(1, round(options.effort) if found.cases else 1):
        again = _round(checkable, replace(options, seed=options.seed + SEED * number), trial)
        found.cases.extend(again.cases)
    return found


def _round(checkable: Checkable, options: Options, trial: Trial) -> Collected:
    natural = (Near if checkable.seen else UsualShapes)(checkable, options, trial, checkable.starts_in)
    table = Table(natural)
    with trial.half():  # values and attributes are as much of the domain as shapes
        shapes = natural.cases()
    if not shapes:
        return Collected(dtype=natural.dtype)
    is_open = natural.is_open(shapes[0])
    if is_open:
        if checkable.infer is None and not table.has_answers(shapes):
            shapes = natural.answered() + shapes
        shapes = table.served(shapes)
    # An array among the options goes with the sizes that were seen.
    is_held = bool(options.shapes) or any(isinstance(attr.default, np.ndarray) for attr in checkable.attrs)
    shapes += [] if is_held else sweeps.grown(natural, shapes)
    large = None if is_held else sweeps.enlarged(natural, shapes)
    cases = [*shapes, *(() if natural.is_near else sweeps.emptied(natural, shapes))]
    for sweep in (sweeps.settings, sweeps.regimes, sweeps.marked, sweeps.masks):
        cases += sweep(natural, shapes)
    cases += [] if natural.is_near else sweeps.wider(natural, shapes)
    if is_open:
        cases = table.served(cases)
        large = None if large is None or table.leaves_out(large) else large
    found = Collected(cases, dtype=natural.dtype, domain=natural.domain, large=large)
    found.table = table if is_open else None
    found.unlike = [*sweeps.signs(natural, shapes)]
    return found
