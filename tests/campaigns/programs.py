"""Saved programs with one changed field, loaded and run: every one is opkit's own error or harmless; a campaign.

``python -m tests.campaigns.programs [SECONDS] [SEED]`` prints a line for each network, and exits with 1 where loading or
running ended in an error that is not opkit's own. The last figures are in docs/reliability.md.
"""

from __future__ import annotations

import collections
import copy
import json
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import opkit.paddle as paddle
import opkit.paddle.nn.functional as F
from opkit import static
from opkit.errors import OpkitError
from opkit.static.storage import read_archive, write_archive

__all__ = ["NETWORKS", "main"]

#: Written in place of every field; DELETE removes it.
_DELETE = object()
_OTHER: list[Any] = [
    None, True, False, -1, 0, 1, 2, 3, 5, 7, 10**30, 2**40, -(10**30), 1.5, 1e308, "", "x", "\ud800", "float64", "int64",
    "relu", "o", [], [0], [1], [-1, -1], [2, 3, 4], {}, {"tuple": [1]}, {"array": 0}, {"float": "nan"}, {"a": 1}, [[[]]],
    _DELETE,
]  # fmt: skip


def _layers(x: Any) -> Any:
    hidden = paddle.static.nn.batch_norm(paddle.static.nn.fc(x, 4), is_test=True)
    hidden = paddle.transpose(paddle.reshape(F.relu(hidden), [-1, 2, 2]), [0, 2, 1])
    hidden = paddle.clip(paddle.sum(paddle.concat([hidden, hidden], axis=1), axis=[1]), -1.0, 2.0)
    out = paddle.static.default_main_program().current_block().create_var(name="o", dtype="float32", shape=[-1, 1])
    return static.py_func(np.tanh, paddle.scale(hidden, 2.0, 1.0)[:, 0:1], out)


def _images(x: Any) -> Any:
    image = paddle.reshape(paddle.tile(x, [1, 24]), [-1, 2, 6, 6])
    hidden = F.max_pool2d(F.relu(paddle.static.nn.conv2d(image, 4, 3, padding=1, groups=2)), 2)
    hidden = F.avg_pool2d(F.pad(hidden, [1, 1, 0, 0]), 3, stride=1)
    hidden = F.interpolate(hidden, scale_factor=2, mode="bilinear")
    return F.log_softmax(paddle.static.nn.fc(paddle.flatten(hidden, 1), 3))


def _places(x: Any) -> Any:
    index = paddle.argsort(x, axis=1)
    table = paddle.static.nn.embedding(index, [3, 4])
    picked = paddle.gather(paddle.squeeze(paddle.unsqueeze(table, 0), 0), paddle.argmax(x, axis=0), axis=1)
    first, second = paddle.split(F.layer_norm(picked, [4]), 2, axis=-1)
    joined = paddle.where(first > second, paddle.stack([first, second])[0], paddle.cumsum(second, 1))
    return paddle.matmul(joined, paddle.transpose(joined, [0, 2, 1])) + paddle.topk(x, 1)[0].astype("float32").mean()


NETWORKS: dict[str, Callable[[Any], Any]] = {"layers": _layers, "images": _images, "places": _places}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _paths(item, (*path, key))


def _changed(data: Any, path: tuple[Any, ...], other: Any) -> Any:
    if not path:
        return None if other is _DELETE else other
    made = copy.deepcopy(data)
    at = made
    for key in path[:-1]:
        at = at[key]
    if other is _DELETE:
        del at[path[-1]]
    else:
        at[path[-1]] = other
    return made


def _fate(stem: str, executor: Any) -> str:
    """Return what became of a program: "refused", "ran", "ran into an error", or the foreign error."""
    array = np.arange(6, dtype="float32").reshape(2, 3)
    stage = "refused"
    try:
        program, feeds, fetches = paddle.static.load_inference_model(stem, executor)
        stage = "ran into an error"
        executor.run(program, feed=dict.fromkeys(feeds, array), fetch_list=fetches)
    except OpkitError:
        return stage
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        return f"FOREIGN {type(error).__name__}: {error} ({Path(place.filename).name}:{place.lineno})"
    return "ran"


def judged(network: Callable[[Any], Any], seconds: float, seed: int) -> collections.Counter[str]:
    """Change the fields of one saved network in random order; count what became of each program."""
    found: collections.Counter[str] = collections.Counter()
    with TemporaryDirectory() as folder, paddle.static.program_guard(paddle.static.Program(), paddle.static.Program()):
        stem, executor = f"{folder}/m", paddle.static.Executor()
        x = paddle.static.data("x", [None, 3], "float32")
        fetched = network(x)
        executor.run(paddle.static.default_startup_program())
        paddle.static.save_inference_model(stem, [x], [fetched], executor)
        assert _fate(stem, executor) == "ran"
        entries = read_archive(Path(f"{stem}.pdmodel"))
        data = json.loads(bytes(entries["program.json"]))
        work = [(path, other) for path in _paths(data) for other in _OTHER]
        random.Random(seed).shuffle(work)
        end = time.monotonic() + seconds
        for path, other in work:
            if time.monotonic() > end:
                break
            text = json.dumps(_changed(data, path, other)).encode()
            write_archive(Path(f"{stem}.pdmodel"), {**entries, "program.json": np.frombuffer(text, np.uint8)})
            fate = _fate(stem, executor)
            found[fate] += 1
            if fate.startswith("FOREIGN") and found[fate] == 1:
                print(f"  {'.'.join(map(str, path))} = {other!r}: {fate}", flush=True)
    return found


def main(seconds: float = 60.0, seed: int = 0) -> int:
    """Judge all networks."""
    warnings.simplefilter("ignore")
    paddle.enable_static()
    foreign = 0
    for name, network in NETWORKS.items():
        found = judged(network, seconds, seed)
        wrong = sum(count for fate, count in found.items() if fate.startswith("FOREIGN"))
        foreign += wrong
        parts = ", ".join(f"{found[fate]} {fate}" for fate in ("refused", "ran", "ran into an error"))
        print(f"{name}: {found.total()} programs: {parts}, {wrong} foreign errors", flush=True)
    return int(foreign > 0)


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:3])))
