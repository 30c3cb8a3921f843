"""The corpus under several interpreters, which must give the same verdicts; a campaign, not part of the tests.

``python -m tests.campaigns.versions [--effort X] [--every N] PYTHON...``: every Nth of the op directories of the corpus, right
and faulty, and of its PyLayers by name is checked by each interpreter (in whose environment opkit's dependencies are installed), by the
first one also with two workers and another hash seed. Prints what differs: a status, or a check that fails or is
undecided (code, input, output). Exits with 1 where anything does. The last figures are in docs/reliability.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.corpus.layer_faults import FAULTY
from tests.corpus.layer_model import as_module
from tests.corpus.layers import LAYERS
from tests.corpus.model import write
from tests.corpus.mutants import MUTANTS
from tests.corpus.ops import OPS

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[2]
_ASKED = "import sys, numpy; print('Python', sys.version.split()[0], 'numpy', numpy.__version__)"


def _written(folder: Path, every: int) -> list[str]:
    """Write the corpus; return the targets."""
    for op in [*OPS.values()][::every]:
        write(op, folder / "right")
    for number, mutant in enumerate(MUTANTS[::every]):
        write(OPS[mutant.op], folder / f"fault{number}", mutant)
    layers = [row for row in (*LAYERS.values(), *FAULTY.values()) if row.named][::every]
    (folder / "layers.py").write_text(as_module(layers))
    return [".", *(f"layers.py::{row.name}" for row in layers)]


def _judged(python: str, words: Sequence[str], folder: Path, **env: str) -> dict[str, Any]:
    """Return the verdict of each op: its status, and the checks that do not hold."""
    paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    ran = subprocess.run(
        [python, "-m", "opkit", "gradcheck", "--format", "json", "--no-replay", "--timeout", "300", *words],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths, **env},
    )  # fmt: skip
    assert ran.stdout.startswith("{"), ran.stderr
    return {
        f"{item['dir']} {item['op']}": (
            item["status"],
            *sorted(
                f"{check['status']} {check['code']} {check.get('input')} {check.get('output')}"
                for check in item["checks"]
                if check["status"] != "pass"
            ),
        )
        for item in json.loads(ran.stdout)["ops"]
    }


def main(words: list[str]) -> int:
    """Judge with each interpreter, and compare with the first."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--effort", default="0.3")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("pythons", nargs="*", default=[sys.executable])
    given = parser.parse_args(words)
    pythons = given.pythons
    status = 0
    with TemporaryDirectory() as name:
        folder = Path(name)
        targets = [*_written(folder, given.every), "--effort", given.effort]
        runs: list[tuple[str, str, list[str], dict[str, str]]] = [
            (python, "one worker", ["--jobs", "1"], {"PYTHONHASHSEED": "0"}) for python in pythons
        ]
        runs.insert(1, (pythons[0], "two workers, another hash seed", ["--jobs", "2"], {"PYTHONHASHSEED": "12345"}))
        expected: dict[str, Any] = {}
        for python, how, options, env in runs:
            started = time.perf_counter()
            found = _judged(python, [*targets, *options], folder, XDG_CACHE_HOME=str(folder / "cache"), **env)
            version = subprocess.run([python, "-c", _ASKED], capture_output=True, text=True, check=True).stdout.strip()
            expected = expected or found
            differing = [op for op in {**expected, **found} if expected.get(op) != found.get(op)]
            statuses = sum((expected.get(op) or [""])[0] != (found.get(op) or [""])[0] for op in differing)
            seconds = time.perf_counter() - started
            print(f"{version}, {how}: {len(found)} ops in {seconds:.0f} s, {statuses} other statuses, "
                  f"{len(differing)} ops with other checks", flush=True)  # fmt: skip
            for op in differing:
                print(f"  {op}:\n    {expected.get(op)}\n    {found.get(op)}", flush=True)
            status |= bool(differing)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
