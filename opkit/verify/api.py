"""``opkit.gradcheck``: the Python entry, for targets and for functions of this very process.

Nothing is printed; the result is a Report.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import opkit
from opkit.checker import Checkable, OpReport, Report, check
from opkit.errors import UsageError
from opkit.forked import end_if_forked
from opkit.verify.failures.slopes import with_slopes
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.isolation.watch import SingleProcess
from opkit.verify.options import RunOptions
from opkit.verify.outcome import Outcome
from opkit.verify.run import remember, run_targets
from opkit.verify.subjects.pair import cases_of, pair
from opkit.verify.workers.alone import check_former, joined
from opkit.verify.workers.children import check_forked
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.messages import Planned

__all__ = ["gradcheck", "outcome_of"]


def gradcheck(
    target: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | type | Checkable | None = None,
    *,
    forward: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    cases: Callable[..., Any] | None = None,
    **options: Any,
) -> Report:
    """Check gradients and return what was found.

    Args:
        target: what the command line takes (an op directory, a folder of them, ``FILE.py::Name``, ``FILE.py``) or a
            sequence of these; or a PyLayer class.
        forward: in place of a target: ``forward(*inputs)`` -> array or tuple of arrays.
        backward: its gradient: ``backward(*inputs, *douts)`` or ``backward(*inputs, *outputs, *douts)`` -> one
            gradient per input.
        inputs: arrays (and options) to check on, by position or by name; float arrays are differentiated. They count
            as what a run saw: all is checked on them; what fails only near them is undecided. A list of tuples or of
            dicts is a list of cases.
        cases: in place of inputs: ``cases(rng)`` yields them; they are the domain. With neither, forward says by trial
            what it takes, as for an op directory.
        **options: fields of ``opkit.verify.RunOptions`` and ``opkit.checker.Options`` (``seed``, ``jobs``,
            ``timeout``, ``select`` ...). Functions and classes of this process run in it (``isolate=False``) unless
            ``isolate=True`` is given.

    Returns:
        the report; ``report.is_clean()`` says whether nothing failed.

    Raises:
        UsageError: no such target or option, or arguments that do not go together.

    Example:
        >>> import numpy as np
        >>> report = gradcheck(forward=np.sin, backward=lambda x, dy: dy * np.cos(x), inputs=[np.linspace(-1, 1, 5)])
        >>> report.status.value
        'pass'
    """
    return outcome_of(target, forward=forward, backward=backward, inputs=inputs, cases=cases, **options).report


def outcome_of(
    target: Any = None,
    *,
    forward: Callable[..., Any] | None = None,
    backward: Callable[..., Any] | None = None,
    inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    cases: Callable[..., Any] | None = None,
    **options: Any,
) -> Outcome:
    """Do what ``gradcheck`` does and return the whole outcome: report, diagnostics, ids of saved failures."""
    if forward is not None or backward is not None:
        if target is not None or forward is None or backward is None:
            raise UsageError("gradcheck takes a target, or forward= and backward= together")
        process = os.getpid()
        try:
            checkable = pair(forward, backward, inputs, cases, options=RunOptions.of(options).check)
        finally:
            end_if_forked(process)
        return _here(checkable, options)
    if isinstance(target, Checkable):
        return _here(target, options)
    if isinstance(target, type):
        return _of_class(target, inputs, cases, options)
    if inputs is not None or cases is not None:
        raise UsageError("inputs= and cases= go with forward= and backward=, or with a class")
    words = [target] if isinstance(target, (str, os.PathLike)) else list(target or ())
    return run_targets(words, RunOptions.of(options))


def _of_class(
    layer: type,
    inputs: Sequence[Any] | Mapping[str, Any] | None,
    cases: Callable[..., Any] | None,
    options: Mapping[str, Any],
) -> Outcome:
    from opkit.verify.subjects.pylayer import is_layer
    from opkit.verify.targets.named import layer_given

    if not is_layer(layer):
        raise UsageError(f"{layer.__name__} is not a PyLayer", help="give a PyLayer class, or forward= and backward=")
    if inputs is not None and cases is not None:
        raise UsageError(f"gradcheck of {layer.__name__} takes inputs=[...], or cases=function of a generator")
    loaded = layer_given(layer, None if inputs is None else cases_of(inputs), cases, RunOptions.of(options))
    if loaded.checkables:
        return _here(loaded.checkables[0], options)
    return Outcome(Report(opkit.__version__, RunOptions.of(options).check.seed, loaded.reports))


def _here(checkable: Checkable, options: Mapping[str, Any]) -> Outcome:
    run = RunOptions.of({"isolate": False, "replay": False, **options})
    report = _isolated(checkable, run) if run.isolate and can_fork() else _in_process(checkable, run)
    whole = Report(opkit.__version__, run.check.seed, (report,))
    return Outcome(whole, saved=remember(whole, run), seconds=report.seconds)


def _in_process(checkable: Checkable, options: RunOptions) -> OpReport:
    started = time.perf_counter()
    checkable = SingleProcess().over(checkable)
    again = check_former(checkable, options)
    return joined(with_slopes(check(checkable, options.check), checkable), again, time.perf_counter() - started)


def _isolated(checkable: Checkable, options: RunOptions) -> OpReport:
    plan = Planned(0, (checkable.name,), (checkable.directory,))
    account = Account(0, checkable.name, checkable.directory, plan)
    for message in check_forked(account, (checkable,), options, 1, is_leader=True):
        account.note(message)
    ((_, report),) = account.reports
    return replace(report, dir=checkable.directory)
