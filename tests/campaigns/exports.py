"""Every sample op and every right op of the corpus, exported in each form to each framework and proved there, as a table.

``python -m tests.campaigns.exports [--to torch,jax] [--form native,callback] [--ops MODULE:NAME] [--json FILE] [NAME...]``
needs the frameworks. Each op is proved in this process, which loads a framework once. ``--ops`` names a mapping of
further rows of ``tests.corpus.model``. Exits 1 where a file is not the same op, or less than 90 % are native.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opkit.errors import OpkitError
from opkit.export.api import DIALECTS, FRAMES
from opkit.export.model import ExportOp
from opkit.export.native import native_bodies
from opkit.export.proof import task_of
from opkit.export.provers.agreement import Proof, load_exported
from opkit.export.subject import subject_of
from opkit.project.loading import load
from tests.corpus.model import Op, write
from tests.corpus.ops import OPS

ROOT = Path(__file__).parents[2]
SAMPLES = sorted(path.parent for path in (ROOT / "sample_ops").glob("*/*_cpp_def.cpp"))
NATIVE_SHARE = 0.9


def directories(words: argparse.Namespace, folder: Path) -> dict[str, Path]:
    """Return {op: directory} of the rows that were asked for."""
    rows: Mapping[str, Op] = OPS
    found: dict[str, Path] = {}
    if words.ops:
        module, _, name = words.ops.partition(":")
        rows = getattr(importlib.import_module(module), name)
    else:
        found = {f"sample {path.name}": path for path in SAMPLES}
    found |= {name: write(op, folder) for name, op in rows.items()}
    return {name: path for name, path in found.items() if not words.names or name in words.names}


def row(path: Path, to: str, form: str, folder: Path) -> tuple[str, str, float]:
    """Export one directory's ops and prove them; return (outcome, note, seconds)."""
    started = time.perf_counter()
    try:
        loaded = load(path)
        notes = [_proved(subject_of(loaded, name), to, form, folder) for name in loaded.forward_ops]
    except OpkitError as error:
        return "refused", str(error).partition("\n")[0], time.perf_counter() - started
    except Exception as error:  # a mistake of opkit's own is a row of the table too
        return "WRONG", f"{type(error).__name__}: {str(error)[:300]}", time.perf_counter() - started
    wrong = [note for is_right, note in notes if not is_right]
    outcome = "WRONG" if wrong else "proved"
    return outcome, "; ".join(wrong or [note for _, note in notes]), time.perf_counter() - started


def _proved(op: ExportOp, to: str, form: str, folder: Path) -> tuple[bool, str]:
    bodies = native_bodies([op], DIALECTS[to]) if form == "native" else {}
    file = folder / f"{op.name}_{form}_{to}.py"
    file.write_text(FRAMES[to].write([op], form, bodies, f"{op.name}.\n"))
    prover = importlib.import_module(f"opkit.export.provers.{to}_prover")
    task = task_of(op) | {"is_checked": True, "inductor": False}
    proof = Proof(task["seconds"])
    try:
        prover.prove(load_exported(str(file)), task, proof)
    except Exception as error:  # a file that cannot be imported is wrong
        return False, f"{type(error).__name__}: {str(error)[:300]}"
    faults = [f"{check}: {note[:300]}" for check, outcome, note in proof.rows if outcome == "FAIL"]
    return not faults, "; ".join(faults) or next(note for check, _, note in proof.rows if check == "values")


def main(words: argparse.Namespace) -> int:
    """Export, print a line each and the shares."""
    table: dict[str, Any] = {}
    folder = Path(words.keep or tempfile.mkdtemp(prefix="exports-"))
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in directories(words, folder / "ops").items():
        for to in words.to.split(","):
            for form in words.form.split(","):
                outcome, note, seconds = row(path, to, form, folder)
                print(f"{name:24} {to:5} {form:8} {outcome:8} {seconds:5.1f} s  {note}", flush=True)
                table[f"{name} {to} {form}"] = [outcome, note]
    status = 0
    for to in words.to.split(","):
        for form in words.form.split(","):
            outcomes = [value[0] for key, value in table.items() if key.endswith(f" {to} {form}")]
            proved, wrong = outcomes.count("proved"), outcomes.count("WRONG")
            print(
                f"{to} {form}: {proved} of {len(outcomes)} proved, {wrong} wrong, {outcomes.count('refused')} refused"
            )
            status |= int(bool(wrong) or proved < (NATIVE_SHARE if form == "native" else 1) * len(outcomes))
    if words.json:
        Path(words.json).write_text(json.dumps(table, indent=1))
    return status


def parsed() -> argparse.Namespace:
    """Return the words of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", default="torch,jax")
    parser.add_argument("--form", default="native,callback")
    parser.add_argument("--ops", default="", help="MODULE:NAME of a mapping of rows")
    parser.add_argument("--json", default="")
    parser.add_argument("--keep", default="", help="a folder for the written files")
    parser.add_argument("names", nargs="*")
    return parser.parse_args()


if __name__ == "__main__":
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    given = parsed()
    if "jax" in given.to:
        importlib.import_module("jax").config.update("jax_enable_x64", True)
    sys.exit(main(given))
