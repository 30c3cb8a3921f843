"""The command line's contract: what is data and what is not, exit statuses, forms, and clear words for bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.served import may_be_served, served
from tests.offline import offline, reached
from tests.project.opdir import edit, place, write_op


def opkit(folder: Path, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line in a folder; the limit is for hangs alone, a busy machine may take minutes."""
    # Plugins of pytest that opkit does not ask for take longer to load than most of these commands.
    every = {**os.environ, "XDG_CACHE_HOME": str(folder / ".cache"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", **env}
    if may_be_served([*argv], env):
        return served([*argv], folder, every)
    command = [sys.executable, "-m", "opkit", *argv]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=1200, env=every)


COMMANDS = ("new", "build", "gradcheck", "plot", "run", "test", "ops", "graph", "explain", "demo", "doctor")


def test_help_names_every_command(tmp_path: Path) -> None:
    """The help page lists the commands and the exit statuses."""
    page = opkit(tmp_path, "--help")
    assert page.returncode == 0
    for command in COMMANDS:
        assert f" {command} " in page.stdout
    assert "Exit status" in page.stdout


def test_version(tmp_path: Path) -> None:
    """--version prints the version and nothing else."""
    import opkit as package

    assert opkit(tmp_path, "--version").stdout == f"opkit {package.__version__}\n"


def test_new_then_build_then_check_then_run(tmp_path: Path) -> None:
    """The four commands in a row: paths on standard output, the next step on standard error, all with status 0."""
    made = opkit(tmp_path, "new", "t", "--job")
    assert made.stdout.splitlines() == [
        "t/t_cpp_def.cpp",
        "t/t_py_api.py",
        "t/t_py_kernel.py",
        "t/test_t.py",
        "job.py",
    ]
    assert "\nnext: opkit build t\n" in made.stderr
    built = opkit(tmp_path, "build")
    assert built.returncode == 0
    assert "t_forward" in built.stdout
    assert built.stderr == "2 op types in 1 directory: no findings\n"
    assert opkit(tmp_path, "gradcheck", "--effort", "0.2").returncode == 0
    ran = opkit(tmp_path, "run", "job.py")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.splitlines()[0] == "[-2. -1.  0.  1.  2.]"


@pytest.mark.parametrize(
    ("argv", "status", "words"),
    [
        (["new", "a/b"], 2, "holds a path"),
        (["new", "t", "--kind", "matmull"], 2, "did you mean 'matmul'"),
        (["new", "t", "--attr", "alpha"], 2, "expected NAME:TYPE"),
        (["new"], 2, "NAME"),
        (["new", "t", "--kindd", "matmul"], 2, "--kind"),
        (["buidl"], 2, "build"),
        (["build", "nowhere"], 2, "no such file or folder: 'nowhere'"),
        (["build", "--format", "jsn"], 2, "did you mean 'json'"),
        (["build"], 5, "no op directory"),
        (["gradcheck", "nowhere"], 2, "nowhere"),
        (["gradcheck"], 5, "nothing to check"),
        (["gradcheck", "--report", "json"], 2, "FORM=FILE"),
        (["gradcheck", "--report", "r.html"], 2, "html=r.html"),
        (["new", "t", "--kind", "norm"], 2, "did you mean 'normalization'"),
        (["new", "t", "--from", "x^2"], 2, "a power is **"),
        (["gradcheck", "--shape", "x"], 2, "NAME=SIZES"),
        (["graph"], 5, "no op with a gradient"),
        (["ops", "no_such_op"], 5, "no_such_op"),
        (["explain", "PROJ999"], 2, "PROJ"),
        (["run", "nowhere.py"], 2, "nowhere.py"),
        (["run", "."], 2, "a folder, no such file"),
        (["run", "fil.py"], 2, "did you mean 'file.py'?"),
        (["run", "--show_plan", "file.py"], 2, "did you mean '--show-plan'?"),
        (["build", "fiel"], 2, "did you mean 'file'?"),
        (["gradcheck", "--select", "GC999"], 2, "'opkit explain GC' lists all"),
        (["gradcheck", "--ignore", "SPEC010"], 2, "gradcheck has no check 'SPEC010'"),
        (["ops", "sclar_mul"], 5, "did you mean 'scalar_mul'"),
        (["new", "t", "--dir", "file"], 2, "cannot write into 'file'"),
    ],
)
def test_bad_usage(argv: list[str], status: int, words: str, tmp_path: Path) -> None:
    """Bad usage has its exit status, no data on standard output, one clear message and no traceback."""
    (tmp_path / "file").touch()
    (tmp_path / "file.py").touch()
    ran = opkit(tmp_path, *argv)
    assert ran.returncode == status
    assert words in ran.stderr
    assert "Traceback" not in ran.stderr
    if status == 2:
        assert ran.stdout == ""
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != ".cache") == ["file", "file.py"]


def test_json_is_all_there_is(tmp_path: Path) -> None:
    """With --format json standard output is one object, also where there is nothing or something is wrong."""
    empty = opkit(tmp_path, "build", "--format", "json")
    assert (empty.returncode, json.loads(empty.stdout)["ops"]) == (5, [])
    path = write_op(tmp_path)
    edit(path / "t_py_api.py", ('.Op("t_forward")', '.Op("t_foward")'))
    ran = opkit(tmp_path, "build", "--format", "json")
    data = json.loads(ran.stdout)
    assert ran.returncode == 3
    assert set(data) == {"schema", "opkit", "ops", "diagnostics"}
    (finding,) = data["diagnostics"]
    assert set(finding) == {
        "code",
        "severity",
        "message",
        "file",
        "line",
        "col",
        "end_line",
        "end_col",
        "notes",
        "help",
    }
    assert (finding["code"], finding["file"]) == ("PROJ007", "t/t_py_api.py")
    assert all(isinstance(finding[name], int) for name in ("line", "col", "end_line", "end_col"))


def test_what_a_kernel_file_prints_is_no_data(tmp_path: Path) -> None:
    """A kernel file that prints, and imports a framework, while it is loaded does not spoil the JSON."""
    path = write_op(tmp_path)
    edit(path / "t_py_kernel.py", ("import numpy as np\n", "import numpy as np\nimport oneflow\n\nprint('loading')\n"))
    ran = opkit(tmp_path, "build", "--format", "json")
    assert json.loads(ran.stdout)["diagnostics"] == []
    assert ran.stderr == "loading\n"
    checked = opkit(tmp_path, "gradcheck", "--effort", "0.05", "--format", "json")
    assert json.loads(checked.stdout)["ops"][0]["status"] == "pass"


@pytest.mark.parametrize("form", ["github", "sarif"])
def test_forms_for_machines(form: str, tmp_path: Path) -> None:
    """The other forms name the file and the line of a finding too."""
    path = write_op(tmp_path)
    edit(path / "t_py_api.py", ('.Op("t_forward")', '.Op("t_foward")'))
    ran = opkit(tmp_path, "build", "--format", form)
    assert ran.returncode == 3
    assert "t/t_py_api.py" in ran.stdout
    assert "PROJ007" in ran.stdout
    if form == "sarif":
        assert json.loads(ran.stdout)["version"] == "2.1.0"


def test_warnings_do_not_change_the_status(tmp_path: Path) -> None:
    """A directory with warnings alone is clean."""
    path = write_op(tmp_path, grad=False)
    edit(path / "t_cpp_def.cpp", ('    .Attr<std::string>("device_sub_tag", "py")\n', ""))
    ran = opkit(tmp_path, "build")
    assert ran.returncode == 0
    assert "warning[PROJ010]" in ran.stderr
    assert "1 warning" in ran.stderr


def test_python_of_the_definitions(tmp_path: Path) -> None:
    """--show-python prints valid Python for every function of the definitions, the gradient's too."""
    write_op(tmp_path)
    ran = opkit(tmp_path, "build", "--show-python")
    compile(ran.stdout, "generated", "exec")
    assert "t_forward" in ran.stdout
    assert "gradient" in ran.stdout


def test_no_colours_where_no_terminal_is(tmp_path: Path) -> None:
    """Colours appear only on demand where the output is not a terminal, and NO_COLOR wins."""
    path = write_op(tmp_path)
    edit(path / "t_py_api.py", ('.Op("t_forward")', '.Op("t_foward")'))
    plain = opkit(tmp_path, "build")
    assert "\x1b" not in plain.stdout + plain.stderr
    assert "\x1b[1;31merror[PROJ007]" in opkit(tmp_path, "build", FORCE_COLOR="1").stderr
    assert "\x1b" not in opkit(tmp_path, "build", FORCE_COLOR="1", NO_COLOR="1").stderr


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_width_is_kept(columns: int, tmp_path: Path) -> None:
    """The table of ops fits the terminal's width, and loses nothing."""
    write_op(tmp_path, "quite_a_long_name", attrs=["alpha:float=0.1", "mode:str=something", "axes:ints=0,1,2,3"])
    ran = opkit(tmp_path, "build", COLUMNS=str(columns))
    assert max(map(len, ran.stdout.splitlines())) <= columns
    names = [line.split()[0] for line in ran.stdout.splitlines() if line.startswith("quite")]
    assert names == ["quite_a_long_name_forward", "quite_a_long_name_backward"]
    for text in ("attributes", "alpha", "'something'", "axes"):
        assert text in ran.stdout


def test_ops_lists_the_built_in_ones(tmp_path: Path) -> None:
    """`opkit ops` lists built-in op types; a text narrows the list."""
    everything = opkit(tmp_path, "ops", "--format", "json")
    names = [op["op"] for op in json.loads(everything.stdout)["ops"]]
    assert {"relu", "matmul", "scalar_mul"} <= set(names)
    some = json.loads(opkit(tmp_path, "ops", "scalar", "--format", "json").stdout)["ops"]
    assert [op["op"] for op in some] == [name for name in names if "scalar" in name]
    assert "scalar_mul" in opkit(tmp_path, "ops", "scalar").stdout


def test_graph_shows_the_backward_ops(tmp_path: Path) -> None:
    """`opkit graph` shows which op computes which gradient from what, for shapes that the definitions accept."""
    write_op(tmp_path, "m", "matmul")
    ran = opkit(tmp_path, "graph", "--shape", "a=4,5", "--shape", "b=5,6")
    assert ran.returncode == 0
    assert "m_forward(a: float32[4, 5], b: float32[5, 6]) -> y: float32[4, 6]" in ran.stdout
    assert "m_grad/da_0, m_grad/db_0 = m_backward(a=in:a_0, b=in:b_0, dy=dout:y_0)" in ran.stdout
    assert opkit(tmp_path, "graph").returncode == 0
    assert opkit(tmp_path, "graph", "--shape", "a=4,5", "--shape", "b=4,5").returncode == 3
    (graph,) = json.loads(opkit(tmp_path, "graph", "--format", "json").stdout)["graphs"]
    assert graph["bindings"] == {"a_0": "m_grad/da_0", "b_0": "m_grad/db_0"}
    assert opkit(tmp_path, "graph", "--format", "mermaid").stdout.startswith("flowchart LR\n")
    drawn = opkit(tmp_path, "graph", "--format", "dot").stdout
    assert drawn.startswith('digraph "m_forward and its gradient" {\n')
    assert "  op0 -> d_a_0 [style=dashed];" in drawn


def test_explain(tmp_path: Path) -> None:
    """`opkit explain` prints a code's page, in any case of letters; without a code it lists all of them."""
    assert opkit(tmp_path, "explain", "proj003").stdout.startswith("PROJ003: ")
    listed = opkit(tmp_path, "explain").stdout.splitlines()
    assert "- PROJ003: an op type has no kernel function" in listed
    family = opkit(tmp_path, "explain", "proj").stdout.splitlines()
    assert family[2:] == [line for line in listed if line.startswith("- PROJ")]


@pytest.mark.parametrize(("code", "near"), [("GC999", "GC197"), ("SPEC02", "SPEC020"), ("proj-3", "PROJ003")])
def test_explain_an_unknown_code(code: str, near: str, tmp_path: Path) -> None:
    """A code that does not exist is two lines: the nearest codes, and the families; not the whole list."""
    ran = opkit(tmp_path, "explain", code)
    message, help = ran.stderr.splitlines()
    assert (ran.returncode, message) == (2, f"error: there is no code {code!r}")
    assert near in help.partition(";")[0]
    assert all(family in help for family in ("SPEC (", "PROJ (", "GC ("))


def test_doctor(tmp_path: Path) -> None:
    """`opkit doctor` finds this installation well, and says so line by line."""
    ran = opkit(tmp_path, "doctor", COLUMNS="200")
    assert ran.returncode == 0, ran.stdout
    assert all(line.startswith(("ok ", "new? ")) for line in ran.stdout.splitlines())


def test_demo(tmp_path: Path) -> None:
    """`opkit demo` goes through all steps without a network, and leaves nothing behind."""
    ran = opkit(tmp_path, "demo", TMPDIR=str(tmp_path), **offline(tmp_path))
    assert reached(tmp_path) == ""
    assert ran.returncode == 0
    for step in ("$ opkit new", "$ opkit build", "$ opkit gradcheck", "$ opkit run"):
        assert step in ran.stdout
    assert "pass" in ran.stdout
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("opkit-demo")] == []


def test_closed_pipe(tmp_path: Path) -> None:
    """A reader that goes away early gets no traceback."""
    command = f"{sys.executable} -m opkit ops | head -n 1"
    ran = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "Traceback" not in ran.stderr
    assert len(ran.stdout.splitlines()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(tmp_path: Path) -> None:
    """Data that cannot be written is one message and a failure, no traceback."""
    command = [sys.executable, "-m", "opkit", "ops"]
    with open("/dev/full", "w") as full:
        ran = subprocess.run(command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (1, "error: output: No space left on device\n")


def test_a_named_folder_without_definitions(tmp_path: Path) -> None:
    """An op directory whose definitions are missing has a finding, and no table."""
    (write_op(tmp_path, "my_op") / "my_op_cpp_def.cpp").unlink()
    built = opkit(tmp_path, "build", "my_op")
    assert (built.returncode, built.stdout) == (3, "")
    assert "PROJ001" in built.stderr
    assert "Traceback" not in built.stderr


def _api_without_build(folder: Path) -> Path:
    path = write_op(folder)
    edit(path / "t_py_api.py", ("        .Build()\n", ""))
    return path


def test_build_and_gradcheck_run_the_api_file(tmp_path: Path) -> None:
    """A missing Build() is found by both, exit status 3, with its place; a wrapper is one finding."""
    path = _api_without_build(tmp_path)
    ran = opkit(tmp_path, "build", "--format", "json")
    assert ran.returncode == 3
    (finding,) = json.loads(ran.stdout)["diagnostics"]
    line, col = place(path / "t_py_api.py", "InferAndTryRun")
    assert (finding["code"], finding["file"], finding["line"], finding["col"]) == (
        "PROJ019",
        "t/t_py_api.py",
        line,
        col,
    )
    checked = opkit(tmp_path, "gradcheck")
    assert checked.returncode == 3
    assert "PROJ019" in checked.stdout


def test_spec_only_runs_no_python(tmp_path: Path) -> None:
    """`--spec-only` reads the Python files of a directory and executes neither."""
    path = _api_without_build(tmp_path)
    for name in ("t_py_api.py", "t_py_kernel.py"):
        text = (path / name).read_text()
        (path / name).write_text(f"open({str(tmp_path / name)!r}, 'w').close()\n{text}")
    ran = opkit(tmp_path, "build", "--spec-only")
    assert (ran.returncode, list(tmp_path.glob("*.py"))) == (0, [])
    assert opkit(tmp_path, "build").returncode == 3
    assert len(list(tmp_path.glob("*.py"))) == 2


def test_spec_only_reads_kernels(tmp_path: Path) -> None:
    """What a kernel's syntax tree shows is found without running it."""
    path = write_op(tmp_path)
    edit(path / "t_py_kernel.py", ("x, dy = args", "x, y, dy = args"))
    ran = opkit(tmp_path, "build", "--spec-only")
    assert ran.returncode == 3
    assert "error[PROJ026]" in ran.stderr


def test_gradcheck_reports_a_forgotten_registration(tmp_path: Path) -> None:
    """A backward op without a gradient registration is exit status 3, not a pass."""
    path = write_op(tmp_path)
    spec = path / "t_cpp_def.cpp"
    head, _, tail = spec.read_text().partition("REGISTER_USER_OP_GRAD")
    spec.write_text(head + tail[tail.rindex("});") + 3 :])
    for command in (["build"], ["gradcheck", "--effort", "0.05"], ["gradcheck", "--strict", "--effort", "0.05"]):
        ran = opkit(tmp_path, *command)
        assert ran.returncode == 3
        assert "PROJ017" in ran.stdout + ran.stderr


def test_a_table_that_does_not_fit_is_stacked(tmp_path: Path) -> None:
    """At 40 columns each op is a block of lines, in which no word is split."""
    opkit(tmp_path, "new", "my_softplus", "--attr", "beta:float=1.5")
    shown = opkit(tmp_path, "build", COLUMNS="40").stdout
    assert "my_softplus_forward\n  inputs      x\n  outputs     y\n  attributes  beta: float = 1.5\n" in shown
    assert max(map(len, shown.splitlines())) <= 40
    assert opkit(tmp_path, "build", COLUMNS="80").stdout.startswith("op ")
