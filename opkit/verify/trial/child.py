"""ApiTrial: a child process that tries one API file, is given two seconds, and is ended with all that it started.

What it tries is in ``calls``; how it is run and ended is the supervisor's business.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from functools import partial

from opkit.blind.limits import threads_here
from opkit.project.api_fact import ApiFact
from opkit.project.api_remark import Remark
from opkit.project.directory import OpDirectory
from opkit.verify.isolation.child import FreshCall, Outbox, Task
from opkit.verify.isolation.supervisor import Death, Ended, Supervisor, can_fork

#: How long an API file may take.
SECONDS = 2.0
#: How long it may take until the file's own code begins to run: a fresh interpreter, the definitions.
_START = 20.0


class ApiTrial:
    """The trial of one API file, from its start on.

    Args:
        directory: whose API file it is; without one there is nothing to try.
        seconds: how long the file may take.
    """

    def __init__(self, directory: OpDirectory, seconds: float = SECONDS) -> None:
        self._directory, self._seconds = directory, seconds
        self._supervisor = Supervisor(1)
        self._supervisor.begin(_tasks([directory], seconds))

    def facts(self) -> list[ApiFact]:
        """Wait for the end, at most for the time it has, and return what was found."""
        return _found(self._supervisor, [self._directory], self._seconds)[self._directory.real]


def tried(directories: Sequence[OpDirectory], seconds: float = SECONDS) -> dict[str, list[ApiFact]]:
    """Try API files, as many at once as there are processors.

    Args:
        directories: the op directories.
        seconds: how long each file may take.

    Returns:
        {real path of the directory: what was found}.
    """
    supervisor = Supervisor(os.cpu_count() or 1)
    supervisor.begin(_tasks(directories, seconds))
    return _found(supervisor, directories, seconds)


def _tasks(directories: Iterable[OpDirectory], seconds: float) -> list[Task]:
    """Return what tries them: copies of this process, fresh interpreters where it has threads."""
    with_api = [item for item in directories if can_fork() and item.api.is_file() and item.spec.is_file()]
    is_copied = threads_here() == 1
    runs = [partial(run, item, seconds) if is_copied else FreshCall(__name__, (item, seconds)) for item in with_api]
    return [Task(item.real, run, _START) for item, run in zip(with_api, runs)]


def _found(supervisor: Supervisor, directories: Iterable[OpDirectory], seconds: float) -> dict[str, list[ApiFact]]:
    found: dict[str, list[ApiFact]] = {item.real: [] for item in directories}
    begun: dict[str, tuple[str, int]] = {}
    for key, message in supervisor.run():
        if isinstance(message, tuple):
            begun[key] = message
        elif isinstance(message, ApiFact):
            found[key].append(message)
        elif isinstance(message, Ended) and message.death is not Death.DONE:
            found[key].append(_unfinished(message, seconds, *begun.get(key, ("", 1))))
    return found


def _unfinished(ended: Ended, seconds: float, name: str, line: int) -> ApiFact:
    """Return the fact that a child did not go through its file."""
    where = f"in {name}()" if name else "at its top level"
    if ended.death is Death.TIMEOUT:
        how = f"it did not finish within {seconds:g} s"
    elif ended.death is Death.EXITED:
        how = f"it ended its process with exit status {ended.status}"
    else:
        how = f"it was ended by signal {ended.status} ({ended.signal})"
    message = f"the API file could not be tried: {where} {how}"
    return ApiFact(Remark("PROJ024", message, "keep what takes long or ends processes out of the API file"), line)


def run(directory: OpDirectory, seconds: float, outbox: Outbox) -> None:
    """Try a file in this process, which ends here; send what runs next, and what is found as it is found."""
    # Here, since it takes the facades: the process that waits for one trial does other things meanwhile.
    from opkit.verify.trial.calls import try_api_file

    def begin(name: str, line: int) -> None:
        if not name:  # its time begins with its first line: a busy machine's slow start is not held against it
            outbox.flight.arm(seconds)
        outbox.send((name, line))

    for fact in try_api_file(directory, begin):
        outbox.send(fact)
