"""A census of the framework names that a folder of scripts uses: which opkit has, and which would unlock most files.

    python benchmarks/public_names.py FOLDER [--framework paddle|oneflow] [--top 30] [--list missing.txt]

A name is what an import statement or a chain of attributes on an imported name spells, up to the first that is neither
a module nor a class. Files whose names do not all exist in the framework's release (another version's, mistyped) are
counted apart. A file is complete when opkit has all its names; one that only can be imported does not count. Methods of
Tensors cannot be recognised from the text and are left out. Nothing of the folder is run.
"""

from __future__ import annotations

import argparse
import ast
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from opkit.shim import frameworks
from opkit.shim.known import OPTIONAL, Table, table_of
from opkit.shim.placeholder import MissingModule, MissingName


def names_in(tree: ast.Module, framework: str) -> set[str]:
    """Return the framework's names in a file, as dotted paths."""
    roots: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for item in node.names:
                if item.name.partition(".")[0] == framework:
                    found.add(item.name)
                    roots[item.asname or framework] = item.name if item.asname else framework
        elif isinstance(node, ast.ImportFrom) and not node.level and (node.module or "").partition(".")[0] == framework:
            for item in node.names:
                path = str(node.module) if item.name == "*" else f"{node.module}.{item.name}"
                found.add(path)
                roots[item.asname or item.name] = path
    found.update(_chains(tree, roots))
    return found


def _chains(tree: ast.Module, roots: dict[str, str]) -> Iterator[str]:
    """Yield the chains of attributes that begin at an imported name, the longest of each."""
    inner = set()
    for node in ast.walk(tree):  # outer nodes come before inner ones
        if isinstance(node, ast.Attribute) and id(node) not in inner:
            parts: list[str] = []
            base: ast.expr = node
            while isinstance(base, ast.Attribute):
                parts.append(base.attr)
                base = base.value
                inner.add(id(base))
            if isinstance(base, ast.Name) and base.id in roots:
                yield ".".join([roots[base.id], *reversed(parts)])


@dataclass
class Census:
    """What was counted.

    Attributes:
        files: how many files name the framework.
        foreign: how many of them name something that the release lacks.
        complete: how many of the rest opkit has all names of.
        uses: name -> how many files name it.
        missing: name that opkit lacks -> how many files name it.
        unlocks: name that opkit lacks -> how many files lack nothing else.
        strangers: name that the release lacks -> how many files name it.
    """

    files: int = 0
    foreign: int = 0
    complete: int = 0
    uses: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    unlocks: Counter[str] = field(default_factory=Counter)
    strangers: Counter[str] = field(default_factory=Counter)
    lacking: dict[str, list[str]] = field(default_factory=dict)

    def count(self, path: str, names: Iterable[str], table: Table) -> None:
        """Count the names of one file."""
        self.files += 1
        short = {_known_part(name, table) for name in names}
        strange = [name for name, exists in short if not exists]
        if strange:
            self.foreign += 1
            self.strangers.update(strange)
            return
        self.uses.update({name for name, _ in short})
        missing = sorted({name for name, _ in short if not has(name)})
        self.missing.update(missing)
        if missing:
            self.lacking[path] = missing
        else:
            self.complete += 1
        if len(missing) == 1:
            self.unlocks[missing[0]] += 1


def _known_part(name: str, table: Table) -> tuple[str, bool]:
    """Return a name up to the part after the first that is not a module, and whether the framework has it."""
    parts = name.split(".")
    module = parts[0]
    for index, part in enumerate(parts[1:], 1):
        known = table.find(module, part)
        if known is None:
            return f"{module}.{part}", False
        if not table.is_module(known.shortest):
            return ".".join([module, *parts[index : index + 2]]), True
        module = known.shortest
    return module, True


_answers: dict[str, bool] = {}


def has(name: str) -> bool:
    """Say whether opkit has a name, neither a placeholder nor missing; what follows a plain value is not asked for."""
    if name not in _answers:
        _answers[name] = name in OPTIONAL or _has(name)
    return _answers[name]


def _has(name: str) -> bool:
    root, *parts = name.split(".")
    value: Any = import_module(f"opkit.{root}")
    for part in parts:
        if not isinstance(value, ModuleType | type):
            return True
        value = getattr(value, part, _NOTHING)
        if value is _NOTHING or isinstance(value, MissingName):
            return False
    return not isinstance(value, MissingModule)


_NOTHING = object()


def census(folder: Path, framework: str) -> Census:
    """Count the names of all files below a folder."""
    table = table_of(framework)
    if table is None:
        sys.exit(f"there is no table of {framework}'s names")
    result = Census()
    for path in sorted(folder.rglob("*.py")):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                names = names_in(ast.parse(path.read_bytes()), framework)
        except (SyntaxError, ValueError):  # Python 2, or another encoding
            continue
        if names:
            result.count(str(path.relative_to(folder)), names, table)
    return result


def show(result: Census, top: int) -> None:
    """Print the counts."""
    known = result.files - result.foreign
    print(f"files that name the framework            {result.files:7}")
    print(f"  with names that its release lacks      {result.foreign:7}")
    print(f"  whose names all exist                  {known:7}")
    print(f"    opkit has all of them                {result.complete:7}  {result.complete / max(known, 1):.1%}")
    for title, counter in (
        ("names that opkit lacks, by the files that lack nothing else", result.unlocks),
        ("names that opkit lacks, by files", result.missing),
    ):
        print(f"\n{title}")
        for name, files in counter.most_common(top):
            print(f"{files:7}  {name}")


def main() -> None:
    """Count a folder and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--framework", choices=("paddle", "oneflow"), default="paddle")
    parser.add_argument("--top", type=int, default=30, help="how many names to list")
    parser.add_argument("--list", type=Path, metavar="FILE", help="write there which file lacks what")
    options = parser.parse_args()
    with frameworks():
        result = census(options.folder, options.framework)
    show(result, options.top)
    if options.list:
        lines = (f"{path}: {' '.join(names)}\n" for path, names in result.lacking.items())
        options.list.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
