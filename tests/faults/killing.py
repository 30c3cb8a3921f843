"""A process that is killed before each step in turn that could change a file, and what is there afterwards.

``python -m tests.faults.killing STRIDE FOLDER`` goes through all scenarios and prints a JSON object: how many points each
had, and what went wrong. A stride of 3 takes every third point.
The steps are the calls into C whose names are below: every write, flush, rename and so on, wherever it is in the action.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

__all__ = ["Scenario", "points"]

_STEPS = {"open", "write", "writelines", "flush", "close", "__exit__", "fsync", "flock", "mkstemp", "mkdir", "rmdir"}
_STEPS |= {"rename", "replace", "unlink", "remove", "chmod", "truncate", "link", "symlink"}


@dataclass(frozen=True)
class Scenario:
    """Something that is saved.

    Args:
        prepare: makes the old state in an empty folder.
        act: makes the new state of it.
        state: returns "old" or "new", or raises where it is neither.
        again: a later run of the same, as a user would start it; afterwards the state is "new".
        left: names in the folder after that, sorted.
    """

    prepare: Callable[[Path], None]
    act: Callable[[Path], None]
    state: Callable[[Path], str]
    again: Callable[[Path], None]
    left: tuple[str, ...]


def points(scenario: Scenario, top: Path, stride: int = 1) -> dict[str, Any]:
    """Kill the action at every point, or every third and so on; return how many there were and what went wrong."""
    wrong: list[str] = []
    states: dict[str, int] = {}
    number = 0
    while True:
        folder = top / f"kill{number}"
        folder.mkdir()
        scenario.prepare(folder)
        if not _killed_at(number, lambda folder=folder: scenario.act(folder)):
            break
        for what, look in (
            ("at once", lambda folder=folder: scenario.state(folder)),
            ("later", lambda folder=folder: _later(scenario, folder)),
        ):
            try:
                found = look()
            except Exception:
                wrong.append(f"point {number}, {what}: {traceback.format_exc(limit=-3)}")
            else:
                states[f"{found} {what}"] = states.get(f"{found} {what}", 0) + 1
        number += stride
    return {"points": number // stride, "states": states, "wrong": wrong}


def _later(scenario: Scenario, folder: Path) -> str:
    scenario.again(folder)
    assert scenario.state(folder) == "new", "the next run did not make the new state"
    names = tuple(sorted(os.listdir(folder)))
    assert names == scenario.left, f"left behind: {names}"
    return "new"


def _is_in_memory(function: Any) -> bool:
    return isinstance(getattr(function, "__self__", None), (io.BytesIO, io.StringIO))


def _killed_at(number: int, act: Callable[[], None]) -> bool:
    """Run an action in a copy of this process that is killed before a step; say whether it came to that."""
    child = os.fork()
    if not child:
        left = [number]

        def note(frame: FrameType, event: str, argument: Any) -> None:
            if event == "c_call" and argument.__name__ in _STEPS and not _is_in_memory(argument):
                if not left[0]:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1

        try:
            sys.setprofile(note)
            act()
        except BaseException:
            sys.setprofile(None)
            traceback.print_exc()
            os._exit(1)
        sys.setprofile(None)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert os.WEXITSTATUS(status) == 0, "the action failed without being killed"
    return False


def main(stride: int, folder: str) -> None:
    """Go through all scenarios in subfolders of a folder."""
    from tests.faults.scenarios import SCENARIOS, render_once

    render_once()
    found = {}
    for number, (name, scenario) in enumerate(SCENARIOS.items()):
        place = Path(folder, str(number))
        place.mkdir()
        found[name] = points(scenario, place, stride)
    print(json.dumps(found))


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
