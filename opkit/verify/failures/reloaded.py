"""Reloaded: the target of a failure loaded once more, in a fresh interpreter, to be asked about.

What is asked is the business of those who ask.
"""

from __future__ import annotations

from typing import Any

from opkit.record import record
from opkit.verify.failures.store import Failure
from opkit.verify.isolation.child import FreshCall, Outbox, Task
from opkit.verify.isolation.supervisor import Supervisor, can_fork
from opkit.verify.options import RunOptions
from opkit.verify.targets.load import load
from opkit.verify.targets.loaded import Loaded
from opkit.verify.targets.target import resolve

#: Seconds for loading and some calls where the run has no time limit.
_SECONDS = 60.0


@record
class Request:
    """What a fresh interpreter is asked about.

    Args:
        failure: whose target it loads.
        options: of the run.
    """

    failure: Failure
    options: RunOptions


def asked(module: str, failure: Failure, options: RunOptions) -> dict[str, Any] | None:
    """Return what ``run(request, outbox)`` of a module sends from a fresh interpreter, None where nothing comes."""
    if not can_fork():
        return None
    call = FreshCall(module, "run", Request(failure, options))
    task = Task(0, call, options.timeout or _SECONDS)
    found = [message for _, message in Supervisor(1).run([task]) if isinstance(message, dict)]
    return found[0] if found else None


def loaded(request: Request, outbox: Outbox, *, is_script: bool = False) -> Loaded:
    """Load the target of a failure in this interpreter.

    Args:
        request: what it was asked.
        outbox: its way back.
        is_script: the file is run under the recorder, instead of the one op being loaded by its name.
    """
    failure, options = request.failure, request.options
    outbox.allow(options.memory)
    root = str(failure.facts.get("root"))
    word = root if is_script else f"{root}::{str(failure.facts['op']).rpartition('::')[2]}"
    (target,) = resolve([word])
    return load(target, options, outbox.flight)
