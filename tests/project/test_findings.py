"""Findings about op directories: every code has its page, and what a person reads is what is checked in."""

import os
from pathlib import Path

import pytest

from opkit.diagnostics import codes, explain, render_text
from opkit.project.api_fact import facts_as_findings
from opkit.project.directory import op_directory_of
from opkit.project.findings import CODES, source_of
from opkit.project.loading import assemble
from opkit.verify.trial.calls import try_api_file
from tests.project.opdir import edit, write_op

GOLDEN = Path(__file__).parent / "golden"


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_page(code: str) -> None:
    """`opkit explain CODE` shows a page whose title is the code's."""
    assert explain(code).startswith(f"# {code}: {CODES[code][1]}\n")


def test_no_page_without_a_code() -> None:
    """A page about op directories belongs to a code that can be given."""
    assert {code for code in codes() if code.startswith("PROJ")} == set(CODES)


#: code: edits of a scaffolded op with the attribute alpha, (file, (old, new)...)
CASES: dict[str, list[tuple[str, tuple[str, str]]]] = {
    "PROJ018": [
        ("t_cpp_def.cpp", ('OpTypeName("t_backward")', 'OpTypeName("multiply")')),
    ],
    "PROJ019": [("t_py_api.py", ("        .Build()\n", ""))],
    "PROJ020": [("t_py_api.py", ("    return (\n", "    (\n"))],
    "PROJ021": [("t_py_api.py", ("[x]", "x"))],
    "PROJ022": [("t_py_api.py", ("alpha=0.5", 'alpha="0.5"'))],
    "PROJ023": [("t_py_api.py", ("    return (\n", "    x.numpy_of_nothing()\n    return (\n"))],
    "PROJ025": [("t_py_kernel.py", ('attrs["alpha"]', 'attrs["alhpa"]'))],
    "PROJ026": [("t_py_kernel.py", ("x, dy = args", "x, y, dy = args"))],
    "PROJ027": [("t_py_kernel.py", ("    return ", "    result = "))],
    "PROJ028": [("t_cpp_def.cpp", ('            .Attr("alpha", ctx->FwOp().attr<float>("alpha"))\n', ""))],
    "PROJ029": [("t_py_kernel.py", ('attrs["alpha"]', 'attrs.get("slope", 1)'))],
}


@pytest.mark.parametrize("code", CASES)
def test_the_text_is_the_golden_one(code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is printed is what is checked in (OPKIT_UPDATE_GOLDEN=1 writes it anew)."""
    path = write_op(tmp_path, attrs=["alpha:float=0.5"])
    for file, pair in CASES[code]:
        edit(path / file, pair)
    monkeypatch.chdir(tmp_path)
    directory = op_directory_of("t")
    loaded = assemble(directory)
    facts = list(try_api_file(directory, lambda name, line: None))
    found = [
        *loaded.diagnostics,
        *facts_as_findings(source_of(directory.api), facts, loaded.result.ops, loaded.diagnostics),
    ]
    text = render_text([item for item in found if item.code == code])
    assert text, [item.message for item in found]
    golden = GOLDEN / f"{code}.txt"
    if os.environ.get("OPKIT_UPDATE_GOLDEN"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text)
    assert text == golden.read_text()
