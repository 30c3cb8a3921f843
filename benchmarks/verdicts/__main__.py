"""Run opkit and its peers on the corpus; write a table, JSON and a picture.

Run: python -m benchmarks.verdicts [directories|torch|jax ...] [--op NAME ...] [--into FOLDER]

A framework that is not installed is named and left out. FOLDER (build/verdicts) gets verdicts.md, verdicts.json and
verdicts.svg; with --page the table, the picture and the sums as JSON of docs/verdicts.md are replaced, too.
"""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import argparse
import json
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from benchmarks.gradcheck_compare import KINDS
from benchmarks.verdicts.page import PAGE, PICTURE, replaced
from benchmarks.verdicts.picture import picture
from benchmarks.verdicts.score import Score, scores_of


def main() -> int:
    """Measure, write and print; 1 where opkit has the wrong verdict on an op."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verdicts", description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of {', '.join(KINDS)}; all by default")
    parser.add_argument("--op", action="append", default=[], help="these ops alone")
    parser.add_argument("--into", type=Path, default=Path("build/verdicts"), help="the folder to write to")
    parser.add_argument("--page", action="store_true", help="also put table and picture into docs/verdicts.md")
    given = parser.parse_args()
    unknown = sorted(set(given.kinds) - set(KINDS))
    if unknown:
        parser.error(f"unknown kind {unknown[0]!r}; there are {', '.join(KINDS)}")
    scores: list[Score] = []
    entries: list[dict[str, object]] = []
    wrong: list[str] = []
    for kind in given.kinds or KINDS:
        module, framework = KINDS[kind]
        if framework and not find_spec(framework):
            print(f"{framework} is not installed: {kind} is left out", file=sys.stderr)
            continue
        table = import_module(module).compared(frozenset(given.op))
        scores += scores_of(kind, table.entries)
        entries += [{"kind": kind, **{name: getattr(item, name) for name in item.__slots__}} for item in table.entries]
        wrong += [f"{kind} {op}" for op in table.missed()]
    given.into.mkdir(parents=True, exist_ok=True)
    text = "\n\n".join([*(score.markdown() for score in scores)])
    (given.into / "verdicts.md").write_text(text + "\n", encoding="utf-8")
    data = {"schema": 1, "scores": [score.to_json() for score in scores], "entries": entries}
    (given.into / "verdicts.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (given.into / "verdicts.svg").write_text(picture(scores), encoding="utf-8")
    if given.page:
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), f"{PICTURE}\n\n{text}"), encoding="utf-8")
        PAGE.with_name("verdicts.svg").write_text(picture(scores), encoding="utf-8")
        short = json.dumps({"schema": 1, "scores": data["scores"]}, indent=1)
        PAGE.with_name("verdicts.json").write_text(short + "\n", encoding="utf-8")
    print(text)
    for op in wrong:
        print(f"{op}: the wrong verdict by opkit", file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
