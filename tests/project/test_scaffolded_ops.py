"""What ``opkit new`` writes is right as it is: every kind, rendered, built, checked, its own tests run, its job run."""

import ast
import re
from pathlib import Path

import pytest

from opkit.errors import UsageError
from opkit.project import KINDS, scaffold, scaffold_template
from opkit.project.rendering import class_name
from tests.cli.test_commands import opkit

SPEC_KINDS = [name for name, kind in KINDS.items() if kind.has_spec]
FILE_KINDS = [name for name, kind in KINDS.items() if not kind.has_spec and not kind.library]
LIBRARY_KINDS = [name for name, kind in KINDS.items() if kind.library]
ATTRS = ["alpha:float=0.1", "beta:double=-1.5", "n:int=2", "k:int64=3", "flag:bool=true", "mode:str=a", "axes:ints=0"]
#: `.ci/run` checks most kinds with all effort, from the wheel.
LITTLE = "[tool.opkit]\neffort = 0.1\n"


@pytest.mark.parametrize("kind", SPEC_KINDS[::2])
def test_op_directory(kind: str, tmp_path: Path) -> None:
    """Every other kind, with attributes of all types, passes `opkit test`: build, gradient, claims, its own tests."""
    scaffold("my_op", tmp_path, kind, ATTRS, job=True)
    (tmp_path / "pyproject.toml").write_text(LITTLE)
    tested = opkit(tmp_path, "test")
    assert tested.returncode == 0, tested.stdout
    ran = opkit(tmp_path, "run", "job.py")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


@pytest.mark.parametrize("kind", SPEC_KINDS[1::2])
def test_gradients_of_the_other_kinds(kind: str, tmp_path: Path) -> None:
    """The others pass the gradient check as they are; `.ci/run` builds and runs most kinds from the wheel."""
    scaffold("my_op", tmp_path, kind)
    checked = opkit(tmp_path, "gradcheck", "--effort", "0.1", "my_op")
    assert checked.returncode == 0, checked.stdout


def test_without_gradient(tmp_path: Path) -> None:
    """Without its gradient the forward op is checked alone, and passes."""
    scaffold("my_op", tmp_path, SPEC_KINDS[0], grad=False)
    (tmp_path / "pyproject.toml").write_text(LITTLE)
    tested = opkit(tmp_path, "test")
    assert tested.returncode == 0, tested.stdout


@pytest.mark.parametrize("attrs", [[], ATTRS], ids=["plain", "attributes"])
@pytest.mark.parametrize("kind", FILE_KINDS)
def test_single_file(kind: str, attrs: list[str], tmp_path: Path) -> None:
    """A PyLayer or a py_func passes its gradient check, and runs as a script."""
    (path,) = scaffold("my_op", tmp_path, kind, attrs)
    checked = opkit(tmp_path, "gradcheck", "--effort", "0.1", path.name)
    assert checked.returncode == 0, checked.stdout
    ran = opkit(tmp_path, "run", path.name)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout


def test_py_func_without_gradient(tmp_path: Path) -> None:
    """A py_func without a backward function runs."""
    (path,) = scaffold("my_op", tmp_path, "py_func", grad=False)
    ran = opkit(tmp_path, "run", path.name)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("kind", LIBRARY_KINDS)
def test_files_of_another_framework(kind: str, tmp_path: Path) -> None:
    """A module, its cases and its tests, each of them Python; the module imports nothing but its framework."""
    paths = scaffold("my_op", tmp_path, kind, ["alpha:float=0.1", "n:int=2", "flag:bool=true", "mode:str=a"])
    assert [path.name for path in paths] == ["my_op.py", "check_my_op.py", "test_my_op.py"]
    for path in paths:
        compile(path.read_text(), str(path), "exec")
    imports = {name.name.partition(".")[0] for node in ast.walk(ast.parse(paths[0].read_text())) if isinstance(node, ast.Import) for name in node.names}
    assert imports == {KINDS[kind].library}


@pytest.mark.parametrize(
    ("name", "attrs", "words"),
    [("forward", [], "'forward'"), ("my_op", ["axes:ints=0,1"], "numbers, bools and strings"), ("torch", [], "hide"), ("my_op", ["ctx:float=1"], "taken")],
)
def test_a_framework_op_refuses_names_of_its_own_files(name: str, attrs: list[str], words: str, tmp_path: Path) -> None:
    """Nothing is written that would not run."""
    with pytest.raises(UsageError, match=words):
        scaffold(name, tmp_path, "torch_op", attrs)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.peer
@pytest.mark.parametrize(
    ("kind", "source"),
    [(kind, ("--from", "y = r * cos(k * t); z = r * sin(k * t)") if number % 2 else ()) for number, kind in enumerate(LIBRARY_KINDS)],
)
def test_another_framework(kind: str, source: tuple[str, ...], tmp_path: Path) -> None:
    """What is written passes its gradient check and its own tests without an edit."""
    pytest.importorskip(KINDS[kind].library)
    made = opkit(tmp_path, "new", "my_op", "--kind", kind, "--attr", "k:float=1.5", *source)
    assert made.returncode == 0, made.stdout + made.stderr
    tested = opkit(tmp_path, "test", "--", "-v", "-p", "no:cacheprovider")
    assert tested.returncode == 0, tested.stdout
    symbol = class_name("my_op") if kind == "torch_function" else "my_op"
    assert re.search(rf"^check_my_op\S*::{symbol} PASSED", tested.stdout, re.MULTILINE), tested.stdout


@pytest.mark.parametrize("kind", FILE_KINDS)
@pytest.mark.parametrize("text", ["y = r * cos(k * t); z = r * sin(k * t)", "sum(log(x) * erfc(k * w), axis=-1)", "x**k @ w", "sum(k * x)"])
def test_a_file_of_a_formula(text: str, kind: str, tmp_path: Path) -> None:
    """It says what it computes, passes its gradient check without an edit, and runs as a script."""
    made = opkit(tmp_path, "new", "my_op", "--kind", kind, "--attr", "k:float=1.5", "--from", text)
    assert (made.returncode, "1 op: 1 pass" in made.stdout) == (0, True), made.stdout + made.stderr
    (said,) = {ast.get_docstring(node) for node in ast.parse((tmp_path / "my_op.py").read_text()).body if getattr(node, "name", "") == "forward"}
    assert text.replace(" ", "") in said.replace(" ", "")
    ran = opkit(tmp_path, "run", "my_op.py")
    assert (ran.returncode, bool(ran.stdout)) == (0, True), ran.stderr


def test_other_kinds_compute_what_they_compute(tmp_path: Path) -> None:
    """A formula of a loss says which kinds take one."""
    refused = opkit(tmp_path, "new", "my_op", "--kind", "loss", "--from", "x * x")
    assert (refused.returncode, "pylayer, py_func, torch_function" in refused.stderr) == (2, True)


@pytest.mark.parametrize("kind", LIBRARY_KINDS)
def test_the_cases_of_another_framework_vary_an_attribute(kind: str, tmp_path: Path) -> None:
    """A backward that forgets it is found where it is not its default."""
    scaffold("my_op", tmp_path, kind, ["gain:float=2.0"])
    assert 'yield {**case, "gain": 3.0}' in (tmp_path / "check_my_op.py").read_text()


def test_an_op_with_a_small_number_of_its_own(tmp_path: Path) -> None:
    """The tests and cases of a normalization hold at other values of it, in both kernels."""
    scaffold("my_op", tmp_path, "normalization", ["epsilon:float=0.1", "gain:float=0.5"], cpp=True)
    (tmp_path / "pyproject.toml").write_text(LITTLE)
    tested = opkit(tmp_path, "test")
    assert tested.returncode == 0, tested.stdout


def test_the_command_says_what_attributes_became(tmp_path: Path) -> None:
    """Which are factors and which are not used; a number of the formula stands there itself."""
    given = ("--attr", "eps:float=1e-5", "--attr", "alpha:float=2", "--attr", "mode:str=a")
    made = opkit(tmp_path, "new", "norm", "--kind", "normalization", *given)
    said = "alpha is a factor of the result until you edit it; mode is not used yet"
    assert said in made.stderr.splitlines()


def test_the_command_says_what_the_op_computes(tmp_path: Path) -> None:
    """Somebody who asks for a cube reads that it is not one yet."""
    made = opkit(tmp_path, "new", "cube", "--kind", "pylayer", "--attr", "k:float=2")
    assert "cube computes y = k * tanh(x), elementwise." in made.stderr
    assert "--from" in made.stderr


def test_templates_of_a_team(tmp_path: Path) -> None:
    """NAME stands for the op's name; templates may extend opkit's; other files are copied."""
    own = tmp_path / "own"
    (own / "NAME").mkdir(parents=True)
    (own / "NAME" / "NAME_py_kernel.py.jinja").write_text(
        '{% extends "elementwise/py_kernel.py.jinja" %}{% block forward %}    return {{ factor }}x\n{% endblock %}'
    )
    (own / "NAME" / "OWNERS").write_text("the team\n")
    written = scaffold_template("cube", tmp_path, own, ["k:float=2"])
    assert [path.relative_to(tmp_path).as_posix() for path in written] == ["cube/cube_py_kernel.py", "cube/OWNERS"]
    assert "return k * x" in written[0].read_text()
    with pytest.raises(UsageError, match="already exists"):
        scaffold_template("cube", tmp_path, own, ["k:float=2"])
    (own / "README").touch()
    with pytest.raises(UsageError, match="already exists"):  # with a file beside its folder too
        scaffold_template("cube", tmp_path, own, ["k:float=2"])


@pytest.mark.parametrize(
    ("text", "said", "help"),
    [
        ("x = 1\n{% if %}\n", r"NAME.py.jinja:2: Expected", "class_name"),
        ("x = 1\n\n{{ nmae }}\n", r"NAME.py.jinja:3: 'nmae' is undefined", "class_name"),
        ("{{ attrs + 1 }}\n", r"NAME.py.jinja:1: can only concatenate", "class_name"),
        ('{% extends "matmull/py_kernel.py.jinja" %}', r"NAME.py.jinja: there is no template", "did you mean 'matmul/py_kernel.py.jinja'"),
        ('{% extends "op/py_kernel.py.jinja" %}', r"NAME.py.jinja:1: Required block 'forward'", "class_name"),
        ("\udcff", r"NAME.py.jinja is not UTF-8 text", ""),
    ],
)
def test_a_mistake_in_a_template_is_reported_with_its_place(tmp_path: Path, text: str, said: str, help: str) -> None:
    """File and line, and what templates may read; what an expression raises, too. Nothing is written."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "A.md").write_text("first\n")
    (tmp_path / "own" / "NAME.py.jinja").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UsageError, match=said) as caught:
        scaffold_template("cube", tmp_path, tmp_path / "own")
    assert help in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["own"]


@pytest.mark.parametrize("kind", LIBRARY_KINDS)
def test_templates_of_a_team_for_another_framework(kind: str, tmp_path: Path) -> None:
    """They extend opkit's of the kind, and read what these read."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "NAME.py.jinja").write_text(
        f'{{% extends "{kind}/module.py.jinja" %}}\n{{% block op %}}{{{{ super() }}}}\n\nTEAM = "{{{{ class_name }}}}, {{{{ summary }}}}"\n{{% endblock %}}'
    )
    (own / "check_NAME.py.jinja").write_text(f'{{% extends "{kind}/check.py.jinja" %}}')
    plain = {path.name: path.read_text() for path in scaffold("my_op", tmp_path / "plain", kind, ["k:float=2"])}
    written = {path.name: path.read_text() for path in scaffold_template("my_op", tmp_path / "made", own, ["k:float=2"], kind=kind)}
    assert written["check_my_op.py"].rstrip() == plain["check_my_op.py"].rstrip()
    assert 'TEAM = "MyOp, y = k * tanh(x), elementwise."' in written["my_op.py"]
    assert plain["my_op.py"].splitlines() == written["my_op.py"].rpartition("TEAM")[0].rstrip().splitlines()


def test_two_templates_of_one_file_are_refused(tmp_path: Path) -> None:
    """One would replace the other in silence."""
    (tmp_path / "own").mkdir()
    for name in ("NAME.py", "NAME.py.jinja"):
        (tmp_path / "own" / name).write_text("x = 1\n")
    with pytest.raises(UsageError, match=r"makes cube.py, as another one does"):
        scaffold_template("cube", tmp_path, tmp_path / "own")


def test_templates_read_what_belongs_to_a_kind(tmp_path: Path) -> None:
    """With its inputs and gradients they make an op that passes; without a name they are listed, and nothing is ignored."""
    own = tmp_path / "own" / "NAME"
    own.mkdir(parents=True)
    for name in ("cpp_def.cpp", "py_api.py", "py_kernel.py", "cases.py"):
        (own / f"NAME_{name}.jinja").write_text(f'{{% extends "matmul/{name}.jinja" %}}')
    assert opkit(tmp_path, "new", "--template", "own", "--kind", "matmul").stdout.split()[-1] == "NAME/NAME_py_kernel.py"
    assert "== mm/mm_cases.py\n" in opkit(tmp_path, "new", "mm", "--template", "own", "--kind", "matmul", "--dry-run").stdout
    for words in (["--job"], ["--from", "x"], ["--input", "x"], ["--cpp-kernel"]):
        assert opkit(tmp_path, "new", "mm", "--template", "own", *words).returncode == 2
    assert not (tmp_path / "mm").exists()
    assert opkit(tmp_path, "new", "mm", "--template", "own", "--kind", "matmul", "--attr", "k:float=2").returncode == 0
    checked = opkit(tmp_path, "gradcheck", "mm")
    assert "1 op: 1 pass" in checked.stdout
    assert "k only" not in checked.stdout
