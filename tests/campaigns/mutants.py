"""Small changes to opkit's core, made one at a time by cosmic-ray: what no test notices is printed; not part of the tests.

``python -m tests.campaigns.mutants [--count 100] [--seed 0] [PACKAGE...]`` needs cosmic-ray and coverage. A package's own tests
run once, and coverage notes which test functions reach which line; a mutant is then shown to those alone that reach its
line. Mutants are drawn at random from the lines that tests reach; annotations are left out, since nothing runs them.
Prints each survivor with its line before and after, a row for each package, and exits 1 where any survives.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
#: Folders below opkit/ that are changed, and the tests that speak for each.
PACKAGES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "eager": (("autograd", "eager"), ("tests/eager",)),
    "static": (("static",), ("tests/static",)),
    "spec": (("spec",), ("tests/spec",)),
    "derivative": (("checker/derivative", "checker/excuses"), ("tests/checker",)),
    "verdict": (("checker/checks", "checker/verdict.py", "checker/causes.py", "checker/engine.py"), ("tests/checker",)),
}
#: One change of each kind: of more that differ in the operator alone, all are noticed or none.
OPERATORS = (
    *(f"core/ReplaceComparisonOperator_{pair}" for pair in
      ("Eq_NotEq", "NotEq_Eq", "Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_Gt", "Gt_Lt", "Is_IsNot", "IsNot_Is")),
    *(f"core/ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Div", "BitAnd_BitOr")),
    "core/ReplaceAndWithOr", "core/ReplaceOrWithAnd", "core/AddNot", "core/ReplaceTrueWithFalse", "core/ReplaceFalseWithTrue",
    "core/NumberReplacer", "core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak", "core/ZeroIterationForLoop",
    "core/ReplaceUnaryOperator_Delete_Not", "core/ExceptionReplacer",
)
#: Seconds after which a mutant counts as noticed: it does not end.
PATIENCE = 120
#: Test functions that a mutant is shown to at most.
MOST_TESTS = 60


@dataclass(frozen=True)
class Mutant:
    """One change: where it is, what makes it, and how often that applied before in its file."""

    file: Path
    line: int
    operator: str
    occurrence: int


def annotated(tree: ast.Module) -> Iterator[range]:
    """Yield the lines of annotations, which no test runs."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if isinstance(part, ast.expr):
                yield range(part.lineno, (part.end_lineno or part.lineno) + 1)


def mutants_of(file: Path) -> Iterator[Mutant]:
    """Yield every change to a file."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.plugins import get_operator

    left_out = {line for lines in annotated(ast.parse(file.read_text())) for line in lines}
    nodes = list(ast_nodes(get_ast_from_path(file)))
    for name in OPERATORS:
        operator = get_operator(name)()
        positions = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, (line, _) in enumerate(positions):
            if line not in left_out:
                yield Mutant(file, line, name, occurrence)


def mutated(mutant: Mutant, source: str) -> str | None:
    """Return a file's text with one change."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    made: str | None = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    return made


def reached(tree: Path, folders: tuple[str, ...], tests: tuple[str, ...]) -> dict[tuple[str, int], set[str]]:
    """Run tests, and return the test functions that reach each line of the folders."""
    import coverage

    settings = tree / "mutants.ini"
    sources = [f"opkit/{one}" for one in folders]
    include = ",".join(f"{one}" if one.endswith(".py") else f"{one}/*" for one in sources)
    settings.write_text(f"[run]\ndynamic_context = test_function\ninclude = {include}\n")
    command = ["-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    subprocess.run([sys.executable, *command], cwd=tree, env=environment(tree), stdout=subprocess.DEVNULL, check=True)
    data = coverage.CoverageData(tree / ".coverage")
    data.read()
    return {
        (str(Path(file).relative_to(tree)), line): {one for one in contexts if one}
        for file in data.measured_files()
        for line, contexts in data.contexts_by_lineno(file).items()
    }


def environment(tree: Path) -> dict[str, str]:
    """Return what tests of a copied tree run in."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}


def is_noticed(tree: Path, tests: set[str], folders: tuple[str, ...]) -> bool:
    """Say whether one of the test functions fails: coverage names them by module, ``test_walk.test_sums``."""
    files = {path.stem: path.relative_to(tree) for folder in folders for path in (tree / folder).rglob("test_*.py")}
    words = []
    for one in sorted(tests)[:MOST_TESTS]:
        parts = one.split(".")
        place = next((k for k, part in enumerate(parts) if part in files), None)
        if place is not None:
            words.append("::".join([str(files[parts[place]]), *parts[place + 1 :]]))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *(words or folders)]
    try:
        done = subprocess.run(command, cwd=tree, env=environment(tree), capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return True
    return done.returncode not in (0, 4, 5)  # 4, 5: no such test


def survivors(tree: Path, package: str, count: int, seed: int) -> tuple[int, list[tuple[Mutant, str, str]]]:
    """Return how many changes were tried, and those that no test noticed, with their lines before and after."""
    folders, tests = PACKAGES[package]
    lines = reached(tree, folders, tests)
    paths = [tree / "opkit" / folder for folder in folders]
    files = sorted(file for path in paths for file in ([path] if path.is_file() else path.rglob("*.py")))
    every = [one for file in files for one in mutants_of(file) if lines.get((str(file.relative_to(tree)), one.line))]
    chosen = random.Random(seed).sample(every, min(count, len(every)))
    alive: list[tuple[Mutant, str, str]] = []
    tried = 0
    for mutant in chosen:
        source = mutant.file.read_text()
        changed = mutated(mutant, source)
        if changed is None or changed == source:
            continue
        tried += 1
        mutant.file.write_text(changed)
        try:
            noticed = is_noticed(tree, lines[str(mutant.file.relative_to(tree)), mutant.line], tests)
        finally:
            mutant.file.write_text(source)
        if not noticed:
            pairs = zip(source.splitlines(), changed.splitlines())
            before, after = next((pair for pair in pairs if pair[0] != pair[1]), ("", ""))
            alive.append((mutant, before.strip(), after.strip()))
            print(f"{mutant.file.relative_to(tree)}:{mutant.line}: {before.strip()}\n    {after.strip()}", flush=True)
    return tried, alive


def main(words: list[str] | None = None) -> int:
    """Try the packages; see the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("packages", nargs="*", choices=[[], *PACKAGES], default=[])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    asked: Any = parser.parse_args(words)
    rows: list[str] = []
    total = 0
    with TemporaryDirectory() as folder:
        tree = Path(folder, "tree").resolve()
        ignored = shutil.ignore_patterns(".*", "__pycache__", "build", "dist", "site")
        shutil.copytree(ROOT, tree, ignore=ignored, symlinks=True)
        for package in asked.packages or PACKAGES:
            tried, alive = survivors(tree, package, asked.count, asked.seed)
            total += len(alive)
            rows.append(f"{package}: {tried - len(alive)} of {tried} noticed")
    print("\n".join(rows))
    return int(total > 0)


if __name__ == "__main__":
    sys.exit(main())
