"""Blame: the end of a worker, reported as a finding about the op that it was checking.

How workers are run is the supervisor's business.
"""

from __future__ import annotations

import os
import re
import signal
import traceback
from dataclasses import replace

from opkit.checker import CheckCode, CheckResult, Evidence, Status
from opkit.checker.model.raised import OPKIT, is_of_user, raised_at, words_of
from opkit.errors import Location
from opkit.verify.codes import CRASH, EXIT, INTERNAL, LOAD, MEMORY, TIMEOUT
from opkit.verify.isolation.announced_calls import Left, UserCall
from opkit.verify.isolation.flight import Phase
from opkit.verify.isolation.shown import shown_path
from opkit.verify.isolation.supervisor import Death, Ended

_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)')


def _fatal_line(trace: str) -> Location | None:
    """Return the innermost line of a user's file in a stack that faulthandler wrote; what started opkit is none."""
    for part in sorted(re.split(r"\n(?=Thread|Current thread)", trace), key=lambda text: "Current thread" not in text):
        frames = list(filter(None, map(_FRAME.match, part.splitlines())))
        own = [place for place, found in enumerate(frames) if os.path.realpath(found["file"]).startswith(OPKIT)]
        for found in frames[: max(own, default=None)]:
            if is_of_user(found["file"]):
                return Location(shown_path(found["file"]), int(found["line"]), function=found["function"])
    return None


def user_line(error: BaseException) -> Location | None:
    """Return the innermost line of a user's file in an exception's traceback."""
    where = raised_at(error)
    return where and replace(where, file=shown_path(where.file))


def _finding(row: CheckCode, message: str, call: UserCall | None, where: Location | None) -> CheckResult:
    call = call or UserCall()
    case = call.case() if call.inputs else None
    return CheckResult(
        row.name,
        Status.ERROR,
        row.code,
        message,
        case=None if case is None else case.to_json(),
        where=where or call.where,
        evidence=None if case is None else Evidence(case, tuple(call.douts)),
    )


def blame_left(left: Left, call: UserCall, limits: str) -> CheckResult:
    """Report a user's function that tried to leave the interpreter, or used up its memory."""
    where = user_line(left.cause)
    if isinstance(left.cause, MemoryError):
        message = f"out of memory {call.phase.text} ({limits}): {words_of(left.cause)}"
        return _finding(MEMORY, message, call, where)
    if type(left.cause).__name__ in ("Paused", "BdbQuit"):
        message = f"a debugger was asked for {call.phase.text}, where there is no terminal"
        return _finding(EXIT, f"{message}; take the call out, or run opkit gradcheck --pdb", call, where)
    did = f"raised {type(left.cause).__name__}"
    if isinstance(left.cause, SystemExit):
        status = left.cause.code
        did = "called sys.exit" + (f" (status {status!r})" if status is None or type(status) in (int, str) else "")
    message = f"{did} {call.phase.text}; a kernel returns its results or raises an Exception"
    return _finding(EXIT, message, call, where)


def blame_error(error: BaseException, row: CheckCode, doing: str) -> CheckResult:
    """Report an exception that came from a user's file while it was used."""
    where = user_line(error)
    if isinstance(error, SyntaxError) and error.filename:
        where = Location(shown_path(error.filename), error.lineno or 0, error.offset or 0)
    return _finding(row, f"{doing} raised {words_of(error)}", None, where)


def blame_ourselves(error: Exception, call: UserCall) -> CheckResult:
    """Report an exception that came from opkit's own checker."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    at = f"{os.path.basename(frame.filename)}:{frame.lineno}"
    message = f"opkit's checker raised {words_of(error)} (at {at}); the op was not judged"
    return _finding(INTERNAL, message, call, None)


def blame_death(ended: Ended, limits: str, call: UserCall | None = None) -> CheckResult:
    """Report a worker's end.

    Args:
        ended: how it ended.
        limits: the limits in force, for the message.
        call: the fatal one, where it was found again.
    """
    row, what = _verdict(ended, limits)
    return _finding(row, what + _last_words(ended), call, _fatal_line(ended.trace))


def is_avoidable(ended: Ended) -> bool:
    """Return whether a worker died of one call of forward or backward, without which the check may go on."""
    is_death = ended.death in (Death.KILLED, Death.EXITED) and _verdict(ended, "")[0] in (CRASH, EXIT)
    return is_death and ended.flight.phase in (Phase.FORWARD, Phase.BACKWARD)


def _verdict(ended: Ended, limits: str) -> tuple[CheckCode, str]:
    at = ended.flight.phase.text
    if ended.death is Death.TIMEOUT:
        if ended.flight.phase is Phase.LOADING:
            return TIMEOUT, f"the file had not finished loading at the time limit ({limits})"
        spent = ended.flight.deadline - ended.flight.since
        if spent > 0.5 * ended.seconds:  # a hang; else many calls took the time, of a slow op
            return TIMEOUT, f"a call had not returned after {spent:.3g} s, at the time limit ({limits}), {at}"
        said = f"the checks did not finish within the limit ({limits}); every call returned, so raise --timeout"
        return TIMEOUT, said
    if ended.death is Death.SWOLLEN:
        return MEMORY, f"more memory was held than the limit allows ({limits}) {at}"
    if ended.death is Death.KILLED:
        if ended.status == signal.SIGKILL and ended.is_starved:
            said = f"the worker was killed ({ended.signal}) {at}: most likely the machine ran out of memory ({limits})"
            return MEMORY, said
        return CRASH, f"the process was killed by {ended.signal} {at}"
    if ended.death is Death.GARBLED:
        return EXIT, f"wrote to a descriptor that is not its own, or closed it, {at}; the process was ended"
    if "MemoryError" in ended.output[-400:]:
        return MEMORY, f"out of memory {at} ({limits})"
    if ended.flight.phase is Phase.LOADING and "Traceback" in ended.output:
        return LOAD, "the file could not be loaded"
    return EXIT, f"the process ended by itself (status {ended.status}) {at}"


def _last_words(ended: Ended) -> str:
    lines = [line.strip() for line in ended.output.splitlines() if line.strip()]
    return f"; last output: {lines[-1][:200]}" if lines else ""
