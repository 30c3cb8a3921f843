"""Every hostile kernel, each in a run with a harmless op after it, as a table of what is wrong.

``python -m tests.campaigns.hostile [--write] [NAME...]``: ``--write`` writes it to tests/verify/hostile_not_yet.py.
Exits 1 where something is wrong that NOT_YET does not name, or right that it does.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.verify.hostile import HOSTILE
from tests.verify.hostile_not_yet import NOT_YET
from tests.verify.hostile_runs import harmless_alone, problems

_HEAD = '''"""What goes wrong with hostile kernels today: name -> what happens. Written by tests.campaigns.hostile."""

from __future__ import annotations

__all__ = ["NOT_YET"]

#: Run as strict expected failures, so that what is mended must be taken out.
NOT_YET: dict[str, str] = {
'''


def main(words: list[str]) -> int:
    """Run, print and compare with NOT_YET."""
    names = [word for word in words if not word.startswith("--")]
    rows = [row for row in HOSTILE if not names or row.name in names]
    wrong: dict[str, str] = {}
    with TemporaryDirectory() as folder:
        for row in rows:
            place = Path(folder) / row.name
            alone = harmless_alone(place / "alone")
            started = time.perf_counter()
            found = problems(row, place, alone)
            print(f"{row.name:26} {time.perf_counter() - started:5.1f} s  {'; '.join(found)}", flush=True)
            if found:
                wrong[row.name] = "; ".join(found)
    known = {row.name for row in rows if row.name in NOT_YET}
    print(f"{len(rows) - len(wrong)} of {len(rows)} end as they should")
    for name in sorted(set(wrong) ^ known):
        print(f"{name}: {wrong.get(name, 'is right now; take it out of NOT_YET')}")
    if "--write" in words:
        kept = {name: text for name, text in NOT_YET.items() if name not in {row.name for row in rows}}
        lines = [f"    {json.dumps(name)}: {json.dumps(text)},\n" for name, text in {**kept, **wrong}.items()]
        (Path(__file__).parents[1] / "verify" / "hostile_not_yet.py").write_text(_HEAD + "".join(lines) + "}\n")
    return int(set(wrong) != known)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
