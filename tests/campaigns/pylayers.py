"""The whole corpus of PyLayers under ``opkit gradcheck``, both forms, as a table by class.

``python -m tests.campaigns.pylayers [--alone] [--write] [NAME...]``: ``--alone`` gives each script a file of its own;
``--write`` writes what is wrong to tests/corpus/not_yet.py. Exits 1 where a verdict is neither right nor in NOT_YET, or
is right and still there. What is true of the rows is found by ``tests.campaigns.layer_oracle``.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.corpus.layer_faults import FAULTY
from tests.corpus.layer_model import Layer
from tests.corpus.layer_verdicts import FORMS, expected, named, recorded, recorded_alone
from tests.corpus.layers import LAYERS
from tests.corpus.not_yet import MAY_BE_UNDECIDED, MAY_BE_UNDECIDED_NAMED, NOT_YET

_HEAD = '''"""What today's gradcheck gets wrong of the corpus: "Name form" -> what happens. Written by tests.campaigns.pylayers."""

from __future__ import annotations

__all__ = ["MAY_BE_UNDECIDED", "MAY_BE_UNDECIDED_NAMED", "NOT_YET"]

#: Right PyLayers (a tenth of them at most) whose script may be undecided because of what lies beyond the recording.
MAY_BE_UNDECIDED: frozenset[str] = frozenset({scripts})

#: Right PyLayers without cases whose forward takes shapes that backward does not, with nothing that says which are meant.
MAY_BE_UNDECIDED_NAMED: frozenset[str] = frozenset({named})

#: Run as strict expected failures, so that what is mended must be taken out.
NOT_YET: dict[str, str] = {
'''


def judged(rows: list[Layer], is_alone: bool) -> dict[tuple[str, str], str]:
    """Return the verdicts by name and form."""
    found: dict[tuple[str, str], str] = {}
    with TemporaryDirectory() as folder:
        for start in range(0, len(rows), 22):
            part = rows[start : start + 22]
            found |= {(name, "named"): word for name, word in named([r for r in part if r.named], Path(folder)).items()}
            if is_alone:
                found |= {(row.name, "script"): recorded_alone(row, Path(folder)) for row in part}
            else:
                found |= {(name, "script"): word for name, word in recorded(part, Path(folder)).items()}
    return found


def write(wrong: dict[str, str], rows: list[Layer]) -> None:
    """Write NOT_YET, keeping what was not judged now."""
    names = {row.name for row in rows}
    kept = {key: text for key, text in NOT_YET.items() if key.partition(" ")[0] not in names}
    lines = [f'    "{key}": "{text}",\n' for key, text in {**kept, **wrong}.items()]
    head = _HEAD
    for place, may in (("{scripts}", MAY_BE_UNDECIDED), ("{named}", MAY_BE_UNDECIDED_NAMED)):
        head = head.replace(place, "{" + ", ".join(f'"{name}"' for name in sorted(may)) + "}" if may else "")
    path = Path(__file__).parents[1] / "corpus" / "not_yet.py"
    path.write_text(head + "".join(lines) + "}\n")


def main(words: list[str]) -> int:
    """Judge, print and compare with NOT_YET."""
    names = [word for word in words if not word.startswith("--")]
    rows = [row for row in (*LAYERS.values(), *FAULTY.values()) if not names or row.name in names]
    started = time.perf_counter()
    found = judged(rows, "--alone" in words)
    table: Counter[tuple[str, str, bool]] = Counter()
    wrong: dict[str, str] = {}
    for row in rows:
        for form in FORMS:
            if (row.name, form) not in found:
                continue
            word, right = found[row.name, form], expected(row, form)
            table[row.fault or "right", form, word in right] += 1
            if word not in right:
                wrong[f"{row.name} {form}"] = f"{word}, not {sorted(right)[0]}"
    print(f"{'class':14} {'named: right':>12} {'wrong':>6} {'script: right':>14} {'wrong':>6}")
    for kind in dict.fromkeys(row.fault or "right" for row in rows):
        counts = [table[kind, form, good] for form in FORMS for good in (True, False)]
        print(f"{kind:14} {counts[0]:12} {counts[1]:6} {counts[2]:14} {counts[3]:6}")
    print(f"{len(found)} verdicts in {time.perf_counter() - started:.0f} s")
    known = {key for key in NOT_YET if any(key == f"{name} {form}" for name, form in found)}
    for key in sorted(set(wrong) ^ known):
        print(f"{key}: {wrong.get(key, 'is right now; take it out of NOT_YET')}")
    if "--write" in words:
        write(wrong, rows)
    return int(set(wrong) != known)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
