"""Loading: a target loaded in a worker, and what is known of it before any check."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace

from opkit.checker import CheckResult, OpReport, Status
from opkit.forked import end_if_forked
from opkit.verify.codes import LOAD, NAMED
from opkit.verify.isolation.blame import blame_error
from opkit.verify.isolation.child import Paused
from opkit.verify.isolation.flight import Flight
from opkit.verify.options import NamedError, RunOptions
from opkit.verify.subjects.loaded import Loaded
from opkit.verify.targets.recipe import Recipe
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.messages import Checked, Message, Planned
from opkit.verify.workers.one_op import sendable


def try_to_load(account: Account, recipe: Recipe, options: RunOptions, flight: Flight) -> Loaded:
    """Load a target; what raises becomes a report about the target itself."""
    process, started = os.getpid(), time.perf_counter()
    try:
        loaded = recipe.make(options, flight)
    except NamedError as error:
        loaded = Loaded(reports=(OpReport(account.label, (CheckResult.of(NAMED, Status.ERROR, str(error)),)),))
    except (Exception, SystemExit, Paused) as error:
        loaded = Loaded(reports=(OpReport(account.label, (blame_error(error, LOAD, "loading"),)),))
    end_if_forked(process)
    seconds = time.perf_counter() - started
    return replace(loaded, checkables=tuple(replace(item, loading=seconds) for item in loaded.checkables))


def opening(account: Account, loaded: Loaded) -> Iterator[Message]:
    """Yield what is known before any check: the plan, and findings about the target itself."""
    names = tuple(item.name for item in loaded.checkables)
    directories = tuple(item.directory for item in loaded.checkables)
    yield Planned(account.number, names, directories, loaded.diagnostics)
    for report in loaded.reports:
        yield Checked(account.number, -1, sendable(report))
