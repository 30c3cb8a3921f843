"""Isolation where processes cannot be forked: an interpreter per target, its ops one after the other.

A worker that dies or hangs costs the ops of its target that were not done yet, never those of another.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from subprocess import Popen
from typing import IO

from opkit.blind import frames
from opkit.checker import CheckResult, Status
from opkit.verify.codes import CRASH, TIMEOUT
from opkit.verify.options import RunOptions
from opkit.verify.targets.target import Target, TargetKind
from opkit.verify.workers.ledger import Account
from opkit.verify.workers.messages import Message
from opkit.verify.workers.start import pipes_of

#: A script under the recorder may train for a while: its limit is that many times that of an op.
PATIENCE = 10


def run_alone(number: int, target: Target, options: RunOptions, start: Callable[[], Popen[bytes]]) -> Iterator[Message]:
    """Check one target in an interpreter of its own; yield what it says, and what it left unsaid.

    Args:
        number: the target's.
        target: what to check.
        options: of the run; the time limit holds from one message to the next.
        start: starts the interpreter.
    """
    process = start()
    requests, answers = pipes_of(process)
    messages: queue.Queue[Message | None] = queue.Queue()
    reader = threading.Thread(target=_read, args=(answers, messages), daemon=True)
    reader.start()
    account = Account(number, target.label, target.directory)
    row, what = CRASH, "the worker process ended in the middle of the check"
    try:
        frames.send(requests.fileno(), ((target,), options))
        while (message := messages.get(timeout=_limit(target, options))) is not None:
            numbered = replace(message, target=number)
            account.note(numbered)
            yield numbered
    except queue.Empty:
        row, what = TIMEOUT, f"the worker did not finish within the time limit ({options.limits})"
    except OSError:
        pass
    finally:
        process.kill()
        process.wait()
        reader.join()
        requests.close()
        answers.close()
    yield from account.settle(CheckResult.of(row, Status.ERROR, f"{what}; this op was not judged"))


def _limit(target: Target, options: RunOptions) -> float | None:
    seconds = options.longest * (PATIENCE if target.kind is TargetKind.SCRIPT else 1)
    return seconds + 5 if seconds and math.isfinite(seconds) else None


def _read(answers: IO[bytes], messages: queue.Queue[Message | None]) -> None:
    for message in frames.received(answers.read):  # what is lost is owed, and is settled at the end
        messages.put(message)
    messages.put(None)
