"""The command line in one table: argv, exit status, standard output, standard error; every option stands in a row."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from typer.main import get_command

from opkit.cli.app import application
from opkit.project import scaffold
from tests.cli.served import served
from tests.project.opdir import edit, write_op

ROOT = Path(__file__).resolve().parents[2]

#: The rows share one folder.
pytestmark = pytest.mark.xdist_group("table")

if sys.platform == "win32":
    pytest.skip("there is no fork", allow_module_level=True)


class Row(NamedTuple):
    """A command line and what it does; the texts are regular expressions for whole streams ("" for an empty one)."""

    argv: str
    status: int
    out: str
    err: str


ANY = r"[\s\S]*"
ROWS = (
    Row("", 2, "", rf"Usage: opkit {ANY}"),
    Row("--version", 0, r"opkit \d+\.\d+\.\d+\n", ""),
    Row("-V", 0, r"opkit \d+\.\d+\.\d+\n", ""),
    Row("-h", 0, rf"Usage: opkit \[OPTIONS\] COMMAND{ANY}", ""),
    Row("--color never -q new fresh --dir made --kind binary --attr k:int=2 --no-grad --job", 0, rf"made/fresh/{ANY}made/job.py\n", ""),
    Row("new good", 2, "", rf"error: good\S* already exists\n  help: {ANY}"),
    Row("new fresh --dir made --force --input x:float32 --input k:int32 --output z", 0, rf"made/fresh/{ANY}", r"fresh computes z = sin\(x\) \* k, elementwise\. .*\n.*\nnext: opkit build made/fresh\n +opkit gradcheck made/fresh\n"),
    Row("new shown --from x**3 --dry-run", 0, rf"== shown/shown_cpp_def.cpp\n{ANY}", ""),
    Row("new own --template empty", 2, "", r"error: --template 'empty': there are no files\n  help: .*\n"),
    Row("new cube --kind torch_op --dir made", 0, r"made/cube.py\nmade/check_cube.py\nmade/test_cube.py\n", rf"cube computes y = tanh\(x\), elementwise. {ANY}opkit gradcheck made/check_cube.py::cube\n{ANY}"),
    Row("plot wrong --seed 1 --output p.html", 1, rf"FAIL +wrong_forward{ANY}p.html\n", r"next: open p.html in a browser\n"),
    Row("plot wrong --output p.svg --effort 0.1 --timeout 60", 1, rf"FAIL +wrong_forward{ANY}p.svg\n", r"next: open p.svg in a browser\n"),
    Row("plot wrong --output x.pdf", 2, "", r"error: plot writes a page or an SVG, not .pdf\n  help: --output x.html\n"),
    Row("new b8 --from=", 2, "", r"error: --from is empty\n  help: .*\n"),
    Row("plot empty", 5, r"no ops.*\n", rf"nothing to check was found{ANY}inputs=\[x\]\)\n"),
    Row("new fast --cpp-kernel --dir made", 0, rf"made/fast/{ANY}fast_cpp_kernel.cpp\n{ANY}", ANY),
    Row("bench nowhere --op x --format json --svg b.svg", 3, "", rf"error: {ANY}"),
    Row("cache --prune --days 30", 0, ANY, ANY),
    Row("gradcheck good --force --kernel python --effort 0.02 --select GC101", 0, rf"pass +good_forward{ANY}", ANY),
    Row("run --kernel python job.py 4", 0, r"4\n", ""),
    Row("build good --compile-commands", 0, ANY, ANY),
    Row("new --ci --dir made", 0, r"made/.github/workflows/opkit.yml\n", ""),
    Row("build good", 0, rf"op +inputs{ANY}good_forward{ANY}", r"2 op types in 1 directory: no findings\n"),
    Row("build good --spec-only --format json", 0, rf"\{{\n  \"schema\": 1,{ANY}", ""),
    Row("build good --show-python --fix", 0, rf"# good_forward{ANY}def {ANY}", r"2 op types in 1 directory: no findings\n"),
    Row("build bad", 3, ANY, rf"error\[PROJ007\]{ANY}  --> bad/bad_py_api.py:\d+:\d+\n{ANY}1 error\n"),
    Row("build nowhere", 2, "", r"error: no such file or folder: 'nowhere'\n"),
    Row("build empty", 5, "", r"no op directory in empty: none holds a NAME_cpp_def.cpp\nnext: opkit new NAME\n"),
    Row("gradcheck good --seed 3 --strict --effort 0.05 -j 1 --timeout 30 --memory 2000 --no-replay --report json=r.json", 0, rf"pass +good_forward{ANY}seed 3\)\n", ""),
    Row("gradcheck good --no-strict --select GC101 --ignore GC105 --shape x=3 --recorded-only --second-order --jobs 1 --replay -s -v --output --verbose --effort 0.05 --device cuda:1", 0, rf"pass +good_forward{ANY}the device 'cuda:1' has no part{ANY}", ANY),
    Row("gradcheck wrong --effort 0.05 --format github --power", 1, rf"::error {ANY}GC101{ANY}", ""),
    Row("gradcheck bad", 3, ANY, ""),
    Row("gradcheck empty", 5, ANY, rf"nothing to check was found\nnext: opkit new NAME, or name an op directory or a FILE.py with PyLayers,{ANY}opkit.gradcheck\(forward=f, backward=df, inputs=\[x\]\)\n"),
    Row("gradcheck good --effort 0", 2, "", rf"error: {ANY}--effort{ANY}"),
    Row("gradcheck --repro none", 2, "", rf"error: {ANY}"),
    Row("gradcheck good --pdb --select GC101 --effort 0.02", 0, rf"pass +good_forward{ANY}", ANY),
    Row("gradcheck good --reference nothing --sanitize", 2, rf"ERROR +good{ANY}--reference takes MODULE:FUNCTION{ANY}", ANY),
    Row("bench good --report html=no/b.html", 2, "", r"error: cannot write 'no/b.html': .*\n"),
    Row("sbp good --seed 1 --strict --effort 0.1 -j 1 --jobs 1 --timeout 60 --memory 4000 --select SBP201 --ignore SBP210 --shape x=4 -v --format json --report json=s.json", 0, rf"\{{{ANY}\"command\": \"sbp\"{ANY}", ""),
    Row("sbp empty --no-strict --output -s --verbose", 5, ANY, rf"nothing to check{ANY}"),
    Row("run job.py 4", 0, r"4\n", ""),
    Row("run --numpy1-names job.py 4", 0, r"4\n", ""),
    Row("run --profile --show-plan --gpu-as-cpu job.py 5", 0, rf"5\n{ANY}", ANY),
    Row("run --report html=p.html job.py 5", 2, "", r"error: opkit run --report writes a profile\n  help: .*\n"),
    Row("run --profile --report json=no/p job.py 5", 2, r"5\n", rf"{ANY}error: cannot write 'no/p': {ANY}"),
    Row("run --profile --report json=no/p job.py", 1, "", rf"{ANY}IndexError{ANY}error: cannot write 'no/p': {ANY}"),
    Row("run job.py", 1, "", rf"Traceback{ANY}IndexError{ANY}"),
    Row("run jab.py", 2, "", r"error: cannot run 'jab.py': no such file\n  help: did you mean 'job.py'\?\n"),
    Row("test empty", 5, rf"{ANY}no tests ran{ANY}", ""),
    Row("test good -- --collect-only -q", 0, rf"good/good_cpp_def.cpp::build\n{ANY}", ""),
    Row("export good --to graph --form auto --no-check --output o.py --force", 0, ANY, ANY),
    Row("export good --to torhc", 2, "", rf"error: {ANY}"),
    Row("ops softmax --format json", 0, rf"\{{\n  \"schema\": 1,{ANY}", ""),
    Row("ops zzz", 5, "", r"no op type's name contains 'zzz'\S*\n"),
    Row("graph good --shape x=2,3 --dtype float64 --format text", 0, rf"{ANY}good_backward{ANY}", ""),
    Row("explain GC101 --format markdown", 0, rf"# GC101: {ANY}", ""),
    Row("explain --all", 0, rf"SPEC: definitions\n{ANY}", ""),
    Row("explain undecided", 0, rf"undecided: {ANY}", ""),
    Row("explain not-served --format markdown", 0, rf"\*\*not served\*\*: {ANY}", ""),
    Row("explain GC999", 2, "", r"error: there is no code 'GC999'\n  help: .*\n"),
    Row("config --format json", 0, rf"\{{\n  \"schema\": 1,{ANY}", ""),
    Row("watch nowhere --effort 0.1", 2, "", rf"error: {ANY}"),
)  # fmt: skip
#: What other tests run: it needs somebody's shell, other machines, or a minute.
#: `--write-cases` is at work in tests/verify/test_written.py, `--threads` in tests/cli/test_run_threads.py.
ELSEWHERE = {"--write-cases", "--install-completion", "--show-completion", "--help", "--cluster", "--threads", "--keep"}


class Table:
    """The folder of the rows."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, argv: list[str]) -> subprocess.CompletedProcess[str]:
        """Run opkit in the folder."""
        env = {**os.environ, "COLUMNS": "100", "XDG_CACHE_HOME": str(self.folder / ".cache"), "PYTHONPATH": str(ROOT)}
        return served(argv, self.folder, env)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    """Return a folder with an op that is right, one that is wrong, one that does not build, and a job."""
    here = tmp_path_factory.mktemp("table")
    scaffold("good", here)
    edit(write_op(here, "wrong") / "wrong_py_kernel.py", ("return dy *", "return 2 * dy *"))
    edit(write_op(here, "bad") / "bad_py_api.py", ('.Op("bad_forward")', '.Op("bad_foward")'))
    (here / "empty").mkdir()
    (here / "job.py").write_text("import sys\n\nprint(sys.argv[1])\n")
    return Table(here)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.argv or "nothing")
def test_row(table: Table, row: Row) -> None:
    """Status and both streams."""
    if "--from" in row.argv:
        pytest.importorskip("sympy", reason="sympy is not installed: formulas cannot be derived")
    done = table.run(row.argv.split())
    assert done.returncode == row.status, done.stdout + done.stderr
    assert re.fullmatch(row.out, done.stdout), done.stdout
    assert re.fullmatch(row.err, done.stderr), done.stderr


def test_every_command_and_option_has_a_row() -> None:
    """In one of its spellings, under its own command."""
    root: Any = get_command(application())
    missing = []
    for name, command in (("", root), *root.commands.items()):
        used = {word for row in ROWS for word in row.argv.split() if not name or name in row.argv.split()}
        for option in command.params:
            spelt = {*option.opts, *option.secondary_opts}
            if option.param_type_name == "option" and not spelt & (used | ELSEWHERE):
                missing.append((name, *option.opts))
        if name not in ("doctor", "demo") and name and not any(name in row.argv.split() for row in ROWS):
            missing.append((name,))
    assert missing == []
