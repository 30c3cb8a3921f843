"""A campaign over a cluster: sixty ops checked by one worker, by two, and without a cluster; needs Dask.

    python benchmarks/devices_campaign.py [--ops 60] [--rounds 3]

On two idle cores; ratios within one run. The overhead of an op on a cluster is what one worker takes longer than a run
without a cluster, less the start of the cluster, over the number of ops.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.corpus.model import write
from tests.corpus.ops import OPS

AIM = 1.7


def checked(folder: Path, *options: str) -> tuple[float, Any]:
    """Return seconds and the verdicts in order."""
    words = [sys.executable, "-m", "opkit", "gradcheck", "ops", "--format", "json", "--no-replay", *options]
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    start = perf_counter()
    ran = subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, check=False)
    seconds = perf_counter() - start
    if not ran.stdout:
        raise SystemExit(ran.stderr[-2000:])
    return seconds, [(op["op"], op["status"]) for op in json.loads(ran.stdout)["ops"]]


def start_of(count: int) -> float:
    """Return what starting and ending a cluster takes."""
    text = f"from opkit.distribute.cluster.connection import connect; connect('local:{count}')"
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])}
    start = perf_counter()
    subprocess.run([sys.executable, "-c", text], env=env, check=True, capture_output=True)
    return perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ops", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    ways = {
        "no cluster, --jobs 1": ("--jobs", "1"),
        "local:1": ("--cluster", "local:1"),
        "local:2": ("--cluster", "local:2"),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    starts: list[float] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "ops").mkdir()
        for op in list(OPS.values())[: given.ops]:
            write(op, folder / "ops")
        verdicts = None
        for _ in range(given.rounds):
            starts.append(start_of(1))
            for way, options in ways.items():
                seconds, found = checked(folder, *options)
                times[way].append(seconds)
                if verdicts is not None and found != verdicts:
                    raise SystemExit(f"{way}: other verdicts")
                verdicts = found
    taken = {way: statistics.median(values) for way, values in times.items()}
    for way, seconds in taken.items():
        print(f"{way:22} {seconds:7.1f} s")
    ratio = statistics.median(one / two for one, two in zip(times["local:1"], times["local:2"]))
    begin = statistics.median(starts)
    overhead = (taken["local:1"] - taken["no cluster, --jobs 1"] - begin) / given.ops
    print(f"{given.ops} ops: two workers are {ratio:.2f} times as fast as one (aim {AIM})")
    print(f"a cluster starts and ends in {begin:.1f} s; an op costs {1e3 * overhead:.0f} ms more on it")
    return int(ratio < AIM)


if __name__ == "__main__":
    sys.exit(main())
