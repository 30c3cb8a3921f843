"""``opkit.gradcheck``: the Python entry, for targets and for functions of this process.

Nothing is printed; the result is a Report.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from types import NoneType
from typing import Any

from opkit.blind.limits import threads_here
from opkit.checker import Checkable, OpReport, Report, check
from opkit.errors import UsageError
from opkit.forked import end_if_forked
from opkit.ops.core.types import Function
from opkit.paths import StrPath
from opkit.verify.failures.slopes import with_slopes
from opkit.verify.isolation.announced_calls import SingleProcess
from opkit.verify.isolation.flight import Flight
from opkit.verify.isolation.supervisor import can_fork
from opkit.verify.kept import kept
from opkit.verify.options import RunOptions
from opkit.verify.outcome import Outcome
from opkit.verify.run import remember, run_targets
from opkit.verify.subjects.foreign.serving import Framework
from opkit.verify.subjects.loaded import Loaded
from opkit.verify.subjects.pair import pair
from opkit.verify.targets.file_functions import families
from opkit.verify.targets.recipe import Recipe, UnsendableError
from opkit.verify.workers.children import check_forked, check_watched
from opkit.verify.workers.ledger import Account, Message, Planned
from opkit.verify.workers.loading import Errand
from opkit.verify.workers.one_op import check_former, joined
from opkit.verify.workers.spawn import check_spawned
from opkit.version import __version__


def gradcheck(
    target: StrPath | Sequence[Any] | Function | type | Checkable | None = None,
    example: Any = None,
    *,
    inputs: Any = None,
    forward: Function | None = None,
    backward: Function | None = None,
    cases: Function | None = None,
    **options: Any,
) -> Report:
    """Check gradients and return what was found.

    Args:
        target: what the command line takes (an op directory, a folder of them, ``FILE.py::Name``, ``FILE.py``) or a
            sequence of these; or a PyLayer class; or, of torch, a Function, its ``apply``, a library op, a function of
            tensors or a Module; or, of JAX, a custom_vjp, a custom_jvp or a function of arrays. Of functions and
            Modules, every custom function that a call goes through is checked too.
        example: inputs without their keyword; or backward, where the target is a forward of numpy arrays.
        forward: in place of a target: ``forward(*inputs)`` -> array or tuple of arrays.
        backward: its gradient: ``backward(*inputs, *douts)`` or ``backward(*inputs, *outputs, *douts)`` -> one
            gradient per input.
        inputs: arrays (and options) to check on, by position or by name; float arrays are differentiated. They count
            as what a run saw: all is checked on them; what fails only near them is undecided. A list of tuples or of
            dicts is a list of cases.
        cases: in place of inputs: ``cases(rng)`` yields them; they are the domain. With neither, forward says by trying
            what it takes, as for an op directory.
        **options: fields of ``opkit.verify.RunOptions`` and ``opkit.checker.Options`` (``seed``, ``jobs``,
            ``timeout``, ``select``, ``device`` ...). Functions and classes of this process run in it
            (``isolate=False``) unless ``isolate=True`` is given. Isolated, they run in a copy of this process; where it
            has threads, in a fresh interpreter that imports them; where they cannot be imported (a lambda, a class of
            the main script), in this process under a watchdog, which ends what runs in Python, and the report's notes
            say so.

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
    given = {"inputs": inputs, "forward": forward, "backward": backward, "cases": cases}
    return outcome_of(target, example, **given, **options).report


def outcome_of(
    target: Any = None,
    example: Any = None,
    *,
    inputs: Any = None,
    forward: Function | None = None,
    backward: Function | None = None,
    cases: Function | None = None,
    **options: Any,
) -> Outcome:
    """Do what ``gradcheck`` does and return the whole outcome: report, diagnostics, ids of saved failures."""
    if callable(example) and forward is None and backward is None:
        target, example, forward, backward = None, None, target, example
    if example is not None and inputs is not None:
        raise UsageError("inputs are given twice: as the second argument and as inputs=")
    inputs = example if inputs is None else inputs
    if forward is not None or backward is not None:
        if target is not None or forward is None or backward is None:
            raise UsageError("gradcheck takes a target, or forward= and backward= together")
        return _here((None, forward, backward, inputs, cases), options)
    if isinstance(target, (Checkable, type)) or _framework_of(target, inputs, "") is not None:
        return _here((target, None, None, inputs, cases), options)
    if inputs is not None or cases is not None:
        raise UsageError("inputs= and cases= go with forward= and backward=, or with a class")
    if not isinstance(target, (str, os.PathLike, Iterable, NoneType)):
        said = f"gradcheck takes a path, a sequence of paths, or a class or function of a framework, got {target!r}"
        raise UsageError(said, help="of functions of numpy arrays give forward= and backward=")
    words = [target] if isinstance(target, (str, os.PathLike)) else list(target or ())
    run = RunOptions.of(options)
    return kept(words, run) or run_targets(words, run)


def load_given(given: tuple[Any, ...], options: RunOptions, flight: Flight | None = None) -> Loaded:
    """Make a checkable of what a call of ``gradcheck`` gave.

    Args:
        given: target, forward, backward, inputs and cases, as ``gradcheck`` takes them.
        options: of the run.
        flight: of the process that the op is made in; not looked at.

    Raises:
        UsageError: arguments that do not go together.
    """
    target, forward, backward, inputs, cases = given
    if isinstance(target, Checkable):
        return Loaded((target,))
    framework = _framework_of(target, inputs, options.device)
    if framework is not None:
        return Loaded(framework.called(target, inputs, cases, options.check))
    if target is not None:
        raise UsageError(f"{target.__name__} is not a PyLayer", help="give a PyLayer class, or forward= and backward=")
    process = os.getpid()
    try:
        return Loaded((pair(forward, backward, inputs, cases, options=options.check),))
    finally:
        end_if_forked(process)


def _framework_of(target: Any, inputs: Any, device: str) -> Framework | None:
    """Return the framework that serves a value of this process on a device, None where none imported does."""
    if target is None or isinstance(target, (str, os.PathLike, list, tuple)):
        return None
    return next((item for item in families(device) if item.takes(target, inputs)), None)


def _here(given: tuple[Any, ...], options: Mapping[str, Any]) -> Outcome:
    """Check what a call gave: target, forward, backward, inputs and cases."""
    run = RunOptions.of({"isolate": False, "replay": False, **options})
    with warnings.catch_warnings():  # of inputs that nobody meant
        warnings.simplefilter("ignore", RuntimeWarning)
        return _checked(given, run)


def _checked(given: tuple[Any, ...], run: RunOptions) -> Outcome:
    loaded = load_given(given, run).on(run.device)
    if not loaded.checkables:
        return Outcome(Report(__version__, run.check.seed, loaded.reports))
    if run.isolate and can_fork():
        reports = _isolated(loaded.checkables, given, run)
    else:
        reports = tuple(_in_process(checkable, run) for checkable in loaded.checkables)
    whole = Report(__version__, run.check.seed, (*reports, *loaded.reports))
    return Outcome(whole, saved=remember(whole, run), seconds=sum(report.seconds for report in reports))


def _in_process(checkable: Checkable, options: RunOptions) -> OpReport:
    started, options = time.perf_counter(), options.for_op(checkable.name, checkable.directory)
    checkable = SingleProcess().over(checkable)
    report = with_slopes(check(checkable, options.check), checkable)
    return joined(report, check_former(checkable, options), time.perf_counter() - started)


def _isolated(checkables: Sequence[Checkable], given: tuple[Any, ...], options: RunOptions) -> tuple[OpReport, ...]:
    names = tuple(item.name for item in checkables)
    plan = Planned(0, names, tuple(item.directory for item in checkables))
    account = Account(0, names[0], checkables[0].directory, plan)
    for message in _apart(account, checkables, given, options):
        account.note(message)
    found = dict(account.reports)
    return tuple(replace(found[order], dir=item.directory) for order, item in enumerate(checkables))


def _apart(
    account: Account, checkables: Sequence[Checkable], given: tuple[Any, ...], options: RunOptions
) -> Iterator[Message]:
    """Check ops apart from this process: in copies of it; where it has threads, in a fresh interpreter.

    What a fresh interpreter cannot make is checked in this process under a watchdog.
    """
    if threads_here() == 1:
        return check_forked(account, checkables, options, 1, is_leader=True)
    try:
        recipe = Recipe.of(load_given, given)
    except UnsendableError as error:
        why = str(error)
        return chain.from_iterable(
            check_watched(account, item, options, why, order) for order, item in enumerate(checkables)
        )
    return check_spawned([account], [Errand(0, recipe, account.label, tuple(range(len(checkables))))], options, 1)
