"""Facts about the code base as a whole: what is public, that every code is explained, that start-up stays light."""

import ast
import importlib
import os
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import opkit
from opkit.diagnostics import codes, explain

ROOT = Path(opkit.__file__).resolve().parent
SURFACE = Path(__file__).with_name("public_surface.txt")
MODULES = sorted(path for path in ROOT.rglob("*.py") if "templates" not in path.parts)


def packages() -> list[str]:
    """Return opkit and every package below it whose name has no underscore in front."""
    below = [item.name for item in pkgutil.walk_packages([str(ROOT)], "opkit.") if item.ispkg]
    return sorted(["opkit", *(name for name in below if not name.rpartition(".")[2].startswith("_"))])


def public(package: str) -> list[str]:
    """Return what a package lists; one that holds nothing but its docstring lists nothing."""
    module = importlib.import_module(package)
    if not hasattr(module, "__all__"):
        assert len(ast.parse(Path(module.__file__).read_text()).body) == 1, f"{package} has no __all__"
    return list(getattr(module, "__all__", []))


def surface() -> list[str]:
    """Return "package.name" for every public name."""
    return sorted(f"{name}.{item}" for name in packages() for item in public(name))


def test_public_surface_is_the_checked_in_list() -> None:
    """Public names appear and disappear on purpose: OPKIT_UPDATE_GOLDEN=1 writes the list anew."""
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        SURFACE.write_text("\n".join(surface()) + "\n")
    assert surface() == SURFACE.read_text().splitlines()


def test_public_names_exist_and_are_sorted_out() -> None:
    """Every name in ``__all__`` can be had, and none is listed twice."""
    for package in packages():
        module, names = importlib.import_module(package), public(package)
        assert len(set(names)) == len(names), package
        missing = [name for name in names if not hasattr(module, name)]
        assert missing == [], package


def test_modules_say_what_they_own_and_long_ones_why() -> None:
    """Every module has a docstring; one of more than 400 lines states there why it is not split."""
    silent, long = [], []
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        says = re.match(r'r?"""(.+?)"""', text, re.DOTALL)
        if says is None:
            silent.append(path)
        elif len(text.splitlines()) > 400 and "module is long because" not in says[1]:
            long.append(path)
    assert (silent, long) == ([], [])


def every_code() -> set[str]:
    """Return the codes of the compiler, the loader and the checker."""
    found: set[str] = set()
    for name in ("opkit.spec.findings", "opkit.project.findings", "opkit.checker.model.codes", "opkit.verify.codes"):
        found |= set(importlib.import_module(name).CODES)
    return found


def test_every_code_has_a_page() -> None:
    """Each code can be explained, and no page is left over from a code that is gone."""
    assert set(codes()) == every_code()


def test_pages_begin_with_their_code() -> None:
    """A page's heading names its code, and more than a heading stands there."""
    for code in codes():
        heading, _, rest = explain(code).partition("\n")
        assert heading.startswith(f"# {code}"), code
        assert len(rest.strip()) > 40, code


def loaded_by(*argv: str) -> set[str]:
    """Return the top-level modules that a command line loads."""
    code = f"import sys; sys.argv = ['opkit', *{list(argv)!r}]\nfrom opkit.__main__ import main\n"
    code += "try:\n    main()\nexcept SystemExit:\n    pass\nprint('LOADED', *sorted(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ran.stdout.rpartition("LOADED ")[2].split())


def test_help_stays_light() -> None:
    """``opkit --help`` loads neither numpy nor the compiler nor the template engine."""
    heavy = {"numpy", "jinja2", "pytest", "opkit.ops", "opkit.spec"}
    assert not heavy & loaded_by("--help")


def test_new_stays_light() -> None:
    """Scaffolding needs no compiler and no numpy."""
    assert not {"numpy", "opkit.spec"} & loaded_by("new", "not-a-name")


def test_importing_opkit_is_light() -> None:
    """``import opkit`` loads nothing but itself and how it loads the rest."""
    ran = subprocess.run(
        [
            sys.executable,
            "-c",
            "import sys; before = set(sys.modules); import opkit; print(*set(sys.modules) - before)",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert {name for name in ran.stdout.split() if name.startswith("opkit")} == {
        "opkit",
        "opkit.beginning",
        "opkit.collection",
        "opkit.deferred",
    }
    assert "numpy" not in ran.stdout


def test_no_path_of_a_machine() -> None:
    """No file of the package speaks of a folder that only one machine has."""
    for path in MODULES:
        text = path.read_text()
        assert "/home/" not in text, path
        assert "/tmp/" not in text, path


def test_names_that_do_not_exist_are_reported_in_one_way() -> None:
    """``opkit.errors`` alone puts the question about the nearest name into words."""
    asking = re.compile(r"\bnearest: |\bdid you mean \S*\{")
    found = [path.name for path in MODULES if asking.search(path.read_text()) and path != ROOT / "errors.py"]
    assert found == []
