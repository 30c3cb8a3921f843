"""The sample ops and the directories of the corpus, judged several times; a campaign, not part of the tests.

``python -m tests.campaigns.verdicts [--effort X] [--every N]``: the whole JSON of each op (every check, its numbers and its
case, without the seconds) is compared between one worker, two and four, another run, another hash seed, another order of
the targets, and a process for each op. Prints what differs, and exits with 1 where anything does. The last figures are
in docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.corpus.model import write
from tests.corpus.mutants import MUTANTS
from tests.corpus.ops import OPS

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]


def _written(folder: Path, every: int) -> list[str]:
    """Copy the sample ops and write every Nth op and fault of the corpus; return the directories."""
    shutil.copytree(ROOT / "sample_ops", folder / "samples")
    for op in [*OPS.values()][::every]:
        write(op, folder / "right")
    for number, mutant in enumerate(MUTANTS[::every]):
        write(OPS[mutant.op], folder / f"fault{number}", mutant)
    return sorted({str(path.parent.relative_to(folder)) for path in folder.rglob("*_cpp_def.cpp")})


def _judged(targets: Sequence[str], folder: Path, options: Sequence[str], **env: str) -> dict[str, str]:
    """Return all that is said of each op but the seconds."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(folder / "cache"), **env}
    command = [sys.executable, "-m", "opkit", "gradcheck", "--format", "json", "--no-replay", "--timeout", "300"]
    ran = subprocess.run(
        [*command, *options, *targets], cwd=folder, capture_output=True, text=True, check=False, env=env
    )
    assert ran.stdout.startswith("{"), ran.stderr
    found = {}
    for item in json.loads(ran.stdout)["ops"]:
        item.pop("seconds")
        found[f"{item['dir']} {item['op']}"] = json.dumps(item, sort_keys=True)
    return found


def _runs(targets: list[str], folder: Path, effort: str) -> Iterator[tuple[str, dict[str, str]]]:
    for how, chosen, jobs, seed in (
        ("one worker", targets, "1", "0"),
        ("two workers", targets, "2", "0"),
        ("four workers, another hash seed", targets, "4", "12345"),
        ("one worker, the targets backwards", targets[::-1], "1", "7"),
    ):
        yield how, _judged(chosen, folder, ["--jobs", jobs, "--effort", effort], PYTHONHASHSEED=seed)
    alone: dict[str, str] = {}
    for target in targets[::4]:
        alone |= _judged([target], folder, ["--jobs", "1", "--effort", effort])
    yield "a process for each, a fourth of them", alone


def main(words: list[str]) -> int:
    """Judge, and compare with the first run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--effort", default="0.1")
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args(words)
    status = 0
    with TemporaryDirectory() as name:
        targets = _written(Path(name), given.every)
        expected: dict[str, str] = {}
        started = time.perf_counter()
        for how, found in _runs(targets, Path(name), given.effort):
            expected = expected or found
            differing = [op for op in found if found[op] != expected.get(op)]
            seconds = time.perf_counter() - started
            print(f"{how}: {len(found)} ops in {seconds:.0f} s, {len(differing)} differ", flush=True)
            for op in differing:
                print(f"  {op}:\n    {expected.get(op)}\n    {found[op]}", flush=True)
            status |= bool(differing)
            started = time.perf_counter()
        counts = [json.loads(text)["status"] for text in expected.values()]
        print(", ".join(f"{counts.count(kind)} {kind}" for kind in sorted(set(counts))))
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
