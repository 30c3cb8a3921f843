"""Profile: time and memory per op of what ran, gathered by an observer, and a trace for Chrome or Perfetto.

Nothing is printed here.
"""

from __future__ import annotations

import json
import os
import threading
import time
from dataclasses import field
from typing import Any

from numpy import ndarray

from opkit.atomic import write_file
from opkit.ops.core.opdef import OpDef
from opkit.ops.core.types import Attrs, Values
from opkit.paths import StrPath
from opkit.record import mutable

#: Events that are kept for the trace; later ones count in the table alone.
_MOST_EVENTS = 500_000


@mutable
class ProfileRow:
    """The cost of one op.

    Attributes:
        calls: how often it ran.
        seconds: in all.
        slowest: seconds of the slowest call.
        made_bytes: bytes of the arrays that its calls made, in all; arrays that share memory with an argument do not
            count.
        most_bytes: bytes that one call made at most.
    """

    calls: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    made_bytes: int = 0
    most_bytes: int = 0


@mutable
class Profile:
    """Collects what an observer gets; ``observe`` is the observer.

    Example:
        >>> from opkit.ops.core.observers import observe
        >>> profile = Profile()
        >>> with observe(profile.observe):
        ...     pass
        >>> profile.rows
        {}
    """

    rows: dict[str, ProfileRow] = field(default_factory=dict)
    events: list[tuple[str, float, float, int, str]] = field(default_factory=list)
    start: float = field(default_factory=time.perf_counter)

    def observe(self, op: OpDef, inputs: Values, attrs: Attrs, outputs: Values, seconds: float) -> None:
        """Record one op that ran; see ``opkit.ops.core.observers.Observer``."""
        now = time.perf_counter()
        name = op.title
        row = self.rows.get(name)
        if row is None:
            row = self.rows[name] = ProfileRow()
        made = sum(_own_bytes(item, inputs) for item in outputs)
        row.calls += 1
        row.seconds += seconds
        row.slowest = max(row.slowest, seconds)
        row.made_bytes += made
        row.most_bytes = max(row.most_bytes, made)
        if len(self.events) < _MOST_EVENTS:
            shapes = ", ".join(_described(item) for item in outputs)
            self.events.append((name, now - seconds - self.start, seconds, threading.get_ident(), shapes))

    def costliest(self) -> list[tuple[str, ProfileRow]]:
        """Return the rows, the costliest op first."""
        return sorted(self.rows.items(), key=lambda item: -item[1].seconds)

    def trace(self) -> dict[str, Any]:
        """Return the events in the Trace Event Format (chrome://tracing, ui.perfetto.dev)."""
        process = os.getpid()
        events = [
            {
                "name": name,
                "cat": "op",
                "ph": "X",
                "ts": round(begin * 1e6, 3),
                "dur": round(seconds * 1e6, 3),
                "pid": process,
                "tid": thread,
                "args": {"outputs": shapes},
            }
            for name, begin, seconds, thread, shapes in self.events
        ]
        return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"tool": "opkit"}}

    def write_trace(self, path: StrPath) -> None:
        """Write the trace to a file."""
        write_file(path, json.dumps(self.trace()).encode("ascii"))


def _own_bytes(item: Any, inputs: Values) -> int:
    if not isinstance(item, ndarray):
        return int(getattr(item, "nbytes", 0))
    for given in inputs:
        if item is given or (item.base is not None and (item.base is given or item.base is getattr(given, "base", 0))):
            return 0
    return item.nbytes


def _described(item: Any) -> str:
    dtype, shape = getattr(item, "dtype", None), getattr(item, "shape", None)
    return f"{dtype}{list(shape)}" if dtype is not None and shape is not None else type(item).__name__
