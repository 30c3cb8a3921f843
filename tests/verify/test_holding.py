"""All that a file holds: every custom function in it, under one name each, whatever way it is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.checker import Options
from opkit.project.module import load_module
from opkit.verify import RunOptions, run_targets
from opkit.verify.targets.file_functions import held, named_in
from opkit.verify.targets.target import ALL, TargetKind, resolve

QUICK = RunOptions(Options(effort=0.05), timeout=60)

LAYER = """
class {name}(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return Tensor(x.numpy() * {factor})

    @staticmethod
    def backward(ctx, dy):
        return Tensor(dy.numpy() * {slope})
"""
HEAD = "import numpy as np\nfrom opkit.eager import PyLayer, Tensor\n"


def layer(name: str, factor: int = 2, slope: int = 2, indent: str = "") -> str:
    """Return the text of a PyLayer."""
    text = LAYER.format(name=name, factor=factor, slope=slope)
    return text.replace("\n", f"\n{indent}")


EVERY = (
    HEAD
    + layer("Twice")
    + "\nDouble = Twice\n"
    + "\nclass Outer:"
    + layer("Inner", indent="    ")
    + "\n\ndef make(n):"
    + layer("Made", indent="    ").replace("* 2", "* n")
    + "\n    return Made\n\nThrice = make(3)\n"
    + "class Base(PyLayer):\n    pass\n"
)


def names_of(here: Path, file: str, text: str) -> list[str]:
    """Return the names of the custom functions that a file holds."""
    (here / file).write_text(text)
    module = load_module(here / file)
    return [item.name for item in held(vars(module), module.__name__)]


def test_nested_classes_aliases_and_results_of_factories_are_held_once(here: Path) -> None:
    """A function that has its own name among several goes by it."""
    assert names_of(here, "every.py", EVERY) == ["Twice", "Outer.Inner", "Thrice", "Base"]


def test_an_alias_before_its_class_does_not_hide_the_name(here: Path) -> None:
    """The class's own name wins wherever it stands."""
    text = HEAD + "def build():" + layer("Own", indent="    ") + "\n    return Own\n\nOther = Own = build()\n"
    assert names_of(here, "alias.py", text) == ["Own"]


@pytest.mark.parametrize(
    ("file", "more", "names"),
    [
        ("uses.py", "", []),
        ("uses.py", "def cases_Twice(rng):\n    yield {'x': rng.normal(size=3)}\n", ["Twice"]),
        ("check_uses.py", "", ["Twice"]),
    ],
)
def test_what_a_file_imports_is_its_own_only_where_it_says_so(
    here: Path, monkeypatch: pytest.MonkeyPatch, file: str, more: str, names: list[str]
) -> None:
    """By cases for it, or by being a check file."""
    (here / "held_library.py").write_text(HEAD + layer("Twice"))
    monkeypatch.syspath_prepend(str(here))
    assert names_of(here, file, "from held_library import Twice\n" + more) == names


def test_a_dotted_name_and_a_bound_apply_lead_to_the_class(here: Path) -> None:
    """As ``FILE.py::Outer.Inner`` says it."""
    (here / "every.py").write_text(EVERY)
    names = vars(load_module(here / "every.py"))
    _, item = named_in(names, "Outer.Inner")
    assert item is not None
    assert item.value is names["Outer"].Inner
    assert named_in(names, "Outer") == (names["Outer"], None)


def test_every_function_of_a_file_is_checked_whether_it_ran_or_not(here: Path) -> None:
    """What ran on what the run saw, the others on inputs that are searched; a base class is skipped with a line."""
    text = EVERY + layer("Wrong", slope=3) + "\nif __name__ == '__main__':\n    Twice.apply(Tensor(np.ones(3)))\n"
    (here / "every.py").write_text(text)
    status = {op.op: op.status.value for op in run_targets(["every.py"], QUICK).report.ops}
    assert status == {
        "every.py::Twice": "pass",
        "every.py::Outer.Inner": "pass",
        "every.py::Thrice": "pass",
        "every.py::Wrong": "fail",
        "every.py::Base": "skip",
    }


def test_all_names_of_a_file_are_checked_without_running_it(here: Path) -> None:
    """``FILE.py::*`` imports the file; relative imports find its package, by either way of naming it."""
    package = here / "held_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "factor.py").write_text("N = 2\n")
    text = HEAD + "from .factor import N\n" + layer("Scale").replace("* 2", "* N")
    (package / "scale.py").write_text(text + "if __name__ == '__main__':\n    raise SystemExit('run')\n")
    words = ["held_package/scale.py::*", "held_package/scale.py", "held_package.scale::Scale"]
    ops = run_targets(words, QUICK).report.ops
    assert [(op.op, op.status.value) for op in ops] == [
        ("held_package/scale.py::Scale", "pass"),
        ("held_package/scale.py::Scale", "pass"),
        ("held_package.scale::Scale", "pass"),
    ]


def test_a_folder_gives_its_check_files_too(here: Path) -> None:
    """Those below it, imported and not run; what stands in an op directory belongs to it."""
    (here / "checks").mkdir()
    for name in ("checks/check_one.py", "check_two.py", "other.py"):
        (here / name).write_text("")
    found = resolve(["."])
    assert [(item.kind, item.label) for item in found] == [
        (TargetKind.SCRIPT, "check_two.py::*"),
        (TargetKind.SCRIPT, "checks/check_one.py::*"),
    ]
    assert {item.name for item in found} == {ALL}


def test_a_check_file_holds_cases_of_what_it_imports(here: Path) -> None:
    """``cases`` and ``SURROGATE`` of the check file are those of the function."""
    (here / "held_kernels.py").write_text(HEAD + layer("Round").replace("x.numpy() * 2", "np.round(x.numpy())"))
    (here / "check_round.py").write_text(
        "import numpy as np\nfrom held_kernels import Round\n\nSURROGATE = {'forward': lambda x: 2 * x}\n\n\n"
        "def cases(rng):\n    yield {'x': rng.normal(size=(2, 3))}\n"
    )
    (op,) = run_targets(["."], QUICK).report.ops
    assert (op.op, op.status.value) == ("check_round.py::Round", "pass"), op.checks


def test_a_name_that_is_defined_several_times_has_a_note(here: Path) -> None:
    """The last definition is checked; the line of the other is said."""
    (here / "twice.py").write_text(HEAD + layer("Scale") + layer("Scale", 3, 3))
    (report,) = run_targets(["twice.py::Scale"], QUICK).report.ops
    assert "Scale is defined several times: the last is checked, not line 4" in report.notes
