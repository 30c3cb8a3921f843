"""Functions that packages ship, each checked with cases, as a surrogate, and as installed.

``python -m tests.campaigns.public_functions [--declared] [PACKAGE...]`` needs torch and the packages of ``public/listed.py``; it says which
are missing. Each Function is checked with its check file (``cases``, ``SURROGATE``, ``REFERENCE``), a surrogate also without
its ``SURROGATE``, and as ``package.module::Name`` with nothing declared (but for ``--declared``). It prints a table, and exits 1 where a verdict is not
the one that the truth asks for.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

import opkit
from opkit.checker import OpReport, Status
from tests.campaigns.public.listed import FUNCTIONS, Listed

#: Of 0 to 1: with more the campaign takes hours, and cases are the same.
EFFORT = 0.2

HERE = Path(__file__).with_name("public")

#: What each truth asks for: with the check file, without SURROGATE, and with nothing declared.
WITH = {"right": {"pass"}, "bounded": {"pass"}, "low": {"pass"}, "surrogate": {"pass"}, "wrong": {"fail"}}
UNNAMED = {"undecided"}
NOTHING = {
    "right": {"pass", "undecided"},
    "bounded": {"pass", "undecided", "fail"},
    "low": {"pass", "undecided"},
    "surrogate": {"undecided"},
    "wrong": {"fail", "undecided"},
}


def checked(targets: list[str]) -> list[OpReport | str]:
    """Return the report of each target, or why there is none; a package is imported once for all of its own."""
    try:
        ops = opkit.gradcheck(targets, replay=False, timeout=60, effort=EFFORT, jobs=1).ops if targets else []
        if len(ops) == len(targets):
            return list(ops)
        reason = f"{len(ops)} ops for {len(targets)} targets"
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    return [reason] if len(targets) == 1 else [checked([target])[0] for target in targets]


def unnamed(item: Listed, folder: str) -> str:
    """Return a target whose check file is the same, but for the declaration of surrogates."""
    file = Path(folder, f"check_{item.check}.py")
    file.write_text((HERE / file.name).read_text().replace("SURROGATE", "NAMED"))
    return f"{file}::{item.name}"


def shown(result: OpReport | str, expected: set[str]) -> tuple[str, bool]:
    """Return a cell of the table, and whether the verdict is as expected."""
    if isinstance(result, str):
        return f"**{result}**", False
    codes = sorted({item.code for item in result.checks if item.status in (Status.FAIL, Status.ERROR)})
    asks = codes == ["GC182"] and expected in NOTHING.values()  # for cases: modules and functions cannot be guessed
    is_good = result.status.value in expected or asks
    cell = " ".join([result.status.value, *codes, f"{result.seconds:.1f} s"])
    return (cell if is_good else f"**{cell}**"), is_good


def detail(result: OpReport | str) -> None:
    """Print what a verdict that is not as expected rests on."""
    if not isinstance(result, str):
        for item in result.checks:
            if item.status in (Status.FAIL, Status.ERROR, Status.UNDECIDED):
                print(f"    {item.status.value} {item.code} {item.message[:300]}", file=sys.stderr, flush=True)


def table(items: list[Listed], folder: str) -> int:
    """Print the rows of a package's Functions, and return how many verdicts are not as listed."""
    standing = [item for item in items if item.truth == "surrogate"]
    named = checked([f"{HERE / f'check_{item.check}.py'}::{item.name}" for item in items])
    bare = dict(zip(standing, checked([unnamed(item, folder) for item in standing])))
    open_to_all = [item for item in items if "--declared" not in sys.argv and "<locals>" not in item.holder]
    alone = dict(zip(open_to_all, checked([item.installed for item in open_to_all])))
    wrong = 0
    for item, one in zip(items, named):
        cells = []
        for result, expected in ((one, WITH[item.truth]), (bare.get(item, ""), UNNAMED), (alone.get(item, ""), NOTHING[item.truth])):
            cell, is_good = shown(result, expected) if result else ("", True)
            cells.append(cell)
            if not is_good:
                wrong += 1
                detail(result)
        print(f"| {item.check} | {item.name} | {item.truth} | {' | '.join(cells)} |", flush=True)
    return wrong


def main() -> int:
    """Print the table, and return 1 where a verdict is another one."""
    wanted = set(sys.argv[1:]) - {"--declared"}
    listed = [item for item in FUNCTIONS if not wanted or wanted & {item.check, item.name}]
    missing = {item.check for item in listed if importlib.util.find_spec(item.module.partition(".")[0]) is None}
    if missing:
        print(f"not installed, and left out: {', '.join(sorted(missing))}")
    wrong = 0
    print("| package | function | truth | with cases | SURROGATE left out | nothing declared |\n|" + "---|" * 6)
    with tempfile.TemporaryDirectory() as folder:
        for package in dict.fromkeys(item.check for item in listed if item.check not in missing):
            wrong += table([item for item in listed if item.check == package], folder)
    print(f"{len(listed)} listed, {wrong} verdicts are not as listed")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
