"""Writers and readers of one thing in processes of their own: ``python -m tests.faults.racing SECONDS FOLDER``.

Prints a JSON object: how many saves and reads there were of each kind, and what went wrong.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import opkit.paddle as paddle
from opkit.errors import UsageError
from opkit.oneflow.semantics.checkpoint import read_checkpoint, write_checkpoint
from opkit.project import scaffold
from tests.faults.scenarios import saved, scenario_net

__all__ = ["main", "race"]

_WRITERS, _READERS = 3, 2


def _save_checkpoint(folder: Path, number: int) -> None:
    write_checkpoint(
        folder / "ck", {"w": np.full(300, number), "b": np.full((2, 50), number), "s": np.full((), number)}
    )


def _read_checkpoint(folder: Path) -> set[float]:
    return {float(value) for item in read_checkpoint(folder / "ck").values() for value in item.numpy().ravel()}


def _save_static(folder: Path, number: int) -> None:
    saved(number)(folder)


def _read_static(folder: Path) -> set[float]:
    state = paddle.static.load_program_state(str(folder / "net"))
    return {float(value) for array in state.values() for value in array.ravel()}


def _save_state(folder: Path, number: int) -> None:
    paddle.save({name: paddle.full([100], number) for name in "abc"}, folder / "state")


def _read_state(folder: Path) -> set[float]:
    return {float(value) for item in paddle.load(str(folder / "state")).values() for value in item.numpy()}


KINDS: dict[str, tuple[Callable[[Path, int], None], Callable[[Path], set[float]]]] = {
    "checkpoint": (_save_checkpoint, _read_checkpoint),
    "static.save": (_save_static, _read_static),
    "paddle.save": (_save_state, _read_state),
}


def _in_children(tasks: list[Callable[[], Any]]) -> list[Any]:
    """Run each task in a copy of this process; return what they return, as JSON carries it."""
    pipes = []
    for task in tasks:
        reader, writer = os.pipe()
        if not os.fork():
            try:
                text = json.dumps(task())
            except BaseException:
                text = json.dumps({"wrong": [traceback.format_exc()], "count": 0})
            os.write(writer, text.encode()[:60_000])
            os._exit(0)
        os.close(writer)
        pipes.append(reader)
    found = []
    for reader in pipes:
        with open(reader, "rb") as stream:
            found.append(json.loads(stream.read()))
        os.wait()
    return found


def _repeated(step: Callable[[int], None], seconds: float) -> dict[str, Any]:
    end, count, wrong = time.monotonic() + seconds, 0, []
    while time.monotonic() < end and len(wrong) < 3:
        count += 1
        try:
            step(count)
        except Exception:
            wrong.append(traceback.format_exc(limit=-3))
    return {"count": count, "wrong": wrong}


def race(name: str, folder: Path, seconds: float) -> dict[str, Any]:
    """Let writers and readers run at once on one kind of save."""
    save, read = KINDS[name]
    save(folder, 0)

    def reading(count: int) -> None:
        numbers = read(folder)
        assert len(numbers) == 1, f"read of {len(numbers)} saves: {sorted(numbers)}"

    def writing(writer: int) -> Callable[[], Any]:
        return lambda: _repeated(lambda count: save(folder, writer * 100_000 + count), seconds)

    tasks = [writing(writer) for writer in range(1, _WRITERS + 1)] + [lambda: _repeated(reading, seconds)] * _READERS
    found = _in_children(tasks)
    return {
        "saves": sum(item["count"] for item in found[:_WRITERS]),
        "reads": sum(item["count"] for item in found[_WRITERS:]),
        "wrong": [text for item in found for text in item["wrong"]],
        "left": sorted(item for item in os.listdir(folder) if item.startswith(".")),
    }


def _race_of_new(folder: Path, seconds: float) -> dict[str, Any]:
    """Start four runs of ``opkit new --job`` at once, again and again."""
    end, rounds, made, wrong = time.monotonic() + seconds, 0, 0, []
    while time.monotonic() < end:
        place = folder / str(rounds)

        def start(place: Path = place) -> dict[str, Any]:
            try:
                scaffold("my_op", place, job=True)
            except UsageError as error:
                return {"made": 0, "wrong": [] if "already exists" in str(error) else [str(error)]}
            return {"made": 1, "wrong": []}

        found = _in_children([start] * 4)
        rounds += 1
        made += sum(item.get("made", 0) for item in found)
        wrong += [text for item in found for text in item["wrong"]]
        names = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
        if len(names) != 5 or "job.py" not in names:
            wrong.append(f"the files are {names}")
    return {"rounds": rounds, "made": made, "wrong": wrong}


def main(seconds: float, top: Path) -> None:
    """Race on everything in folders of their own."""
    scenario_net()
    found = {}
    for name in KINDS:
        (top / name).mkdir()
        found[name] = race(name, top / name, seconds)
    (top / "new").mkdir()
    found["opkit new"] = _race_of_new(top / "new", seconds)
    print(json.dumps(found))


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]))
