"""`opkit build --fix`: what a definition lacks is written from the names of the kernel and API files, and nothing else."""

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest

from opkit.diagnostics import Severity
from opkit.project import amendment_of, build, op_directory_of
from tests.cli.test_commands import opkit
from tests.project.opdir import edit, write_op

GRADIENT = re.compile(r"// Which op computes.*?REGISTER_USER_OP_GRAD.*?\n    }\);\n", re.DOTALL)
BACKWARD = re.compile(r'REGISTER_USER_OP\("t_backward"\).*?\n    }\);\n', re.DOTALL)
SETTERS = re.compile(r"\n    \.Set(?:TensorDesc|DataType)InferFn\(.*?\n    }\)(?=[;\n])", re.DOTALL)


def fixed(path: Path) -> tuple[str, ...]:
    """Write what is lacking, and return what was added; a second time nothing is, and nothing is changed or removed."""
    amendment = amendment_of(op_directory_of(path))
    if amendment is None:
        return ()
    spec = op_directory_of(path).spec
    before = spec.read_bytes().decode() if spec.exists() else ""
    changes = difflib.ndiff(before.replace(";", "").splitlines(), amendment.after.replace(";", "").splitlines())
    assert not [line for line in changes if line.startswith("- ")]
    spec.write_bytes(amendment.after.encode())
    assert amendment_of(op_directory_of(path)) is None
    return amendment.additions


def findings(path: Path) -> list[str]:
    """Return the codes that building gives."""
    return [item.code for item in build([op_directory_of(path)]).diagnostics]


def cut(path: Path, pattern: re.Pattern[str], count: int = 1) -> None:
    """Remove pieces of the definition, so many as there must be."""
    spec = path / "t_cpp_def.cpp"
    text, found = pattern.subn("", spec.read_text())
    assert found == count
    spec.write_text(text)


@pytest.mark.parametrize("kind", ["elementwise", "binary", "reduction", "matmul", "loss"])
def test_a_complete_definition_lacks_nothing(tmp_path: Path, kind: str) -> None:
    """Of every kind."""
    assert fixed(write_op(tmp_path, "t", kind, attrs=["alpha:float=0.5"])) == ()


@pytest.mark.parametrize("kind", ["elementwise", "binary"])
def test_a_definition_that_is_missing(tmp_path: Path, kind: str) -> None:
    """It is written as a whole, and builds."""
    path = write_op(tmp_path, "t", kind, attrs=["alpha:float=0.5", "axes:ints=0,1", "flag:bool=true", "mode:str=a"])
    (path / "t_cpp_def.cpp").unlink()
    made = [text.partition(", ")[0] for text in fixed(path)]
    assert made == ["op 't_forward'", "op 't_backward'", "the gradient of 't_forward'"]
    assert findings(path) == []
    text = (path / "t_cpp_def.cpp").read_text()
    assert '.Attr<std::vector<int64_t>>("axes", std::vector<int64_t>({0, 1}))' in text
    assert '.Attr<bool>("flag", true)' in text


def test_a_written_definition_passes_the_check(tmp_path: Path) -> None:
    """The gradient's attribute is passed on, and the gradients go where their names say."""
    path = write_op(tmp_path, "t", "binary", attrs=["alpha:float=0.5"])
    (path / "t_cpp_def.cpp").unlink()
    fixed(path)
    ran = opkit(tmp_path, "gradcheck", "t", "--effort", "0.1")
    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize("kind", ["elementwise", "binary", "reduction", "matmul", "loss"])
def test_a_gradient_registration(tmp_path: Path, kind: str) -> None:
    """From the names of the two ops."""
    path = write_op(tmp_path, "t", kind, attrs=["alpha:float=0.5"])
    cut(path, GRADIENT)
    assert "PROJ017" in findings(path)
    assert fixed(path) == ("the gradient of 't_forward'",)
    assert findings(path) == []


def test_a_gradient_of_a_misspelt_op_is_renamed(tmp_path: Path) -> None:
    """It is an error at its name, and of the op that has no gradient so; a second registration is not added."""
    path = write_op(tmp_path, "t")
    spec = path / "t_cpp_def.cpp"
    before = spec.read_text()
    spec.write_text(before.replace('_GRAD("t_forward")', '_GRAD("t_foward")'))
    (found,) = build([op_directory_of(path)]).diagnostics
    assert (found.code, found.subject, found.severity) == ("SPEC048", "t_forward", Severity.ERROR)
    assert opkit(tmp_path, "gradcheck", "t").returncode == 3
    amendment = amendment_of(op_directory_of(path))
    assert amendment is not None
    assert amendment.after == before
    assert amendment.additions == ("the name of the gradient of 't_forward'",)


def test_a_backward_op_and_its_gradient(tmp_path: Path) -> None:
    """From the names that the backward kernel unpacks, and the number of values that it returns."""
    path = write_op(tmp_path, "t", "binary")
    cut(path, GRADIENT)
    cut(path, BACKWARD)
    assert fixed(path) == ("op 't_backward', da as a, db as b", "the gradient of 't_forward'")
    assert findings(path) == []
    graph = build([op_directory_of(path)]).loaded[0].result.grads["t_forward"]
    assert not graph.has_errors


def test_attributes_and_the_python_kernel(tmp_path: Path) -> None:
    """Each op type gets the attributes that its kernel reads or its builder sets."""
    path = write_op(tmp_path, attrs=["alpha:float=0.5"])
    cut(path, re.compile(r'\n    \.Attr<[\w:]+>\("\w+", [^\n]*\)(?=\n)'), 4)
    cut(path, re.compile(r"\n +\.Attr\(\"alpha\", ctx[^\n]*"))
    assert {"PROJ009", "PROJ010", "PROJ025"} <= set(findings(path))
    assert set(fixed(path)) == {
        f"t_{op}: attribute {name!r}" for op in ("forward", "backward") for name in ("alpha", "device_sub_tag")
    }
    assert not {"PROJ009", "PROJ010", "PROJ025"} & set(findings(path))


def test_shapes_and_dtypes(tmp_path: Path) -> None:
    """Where no function says them: those of the first input, of a gradient those of its own input."""
    path = write_op(tmp_path, "t", "binary")
    cut(path, SETTERS, 4)
    assert "SPEC033" in findings(path)
    assert fixed(path) == tuple(
        f"t_{op}: {what}, {like}"
        for op, like in (("forward", "y as a"), ("backward", "da as a, db as b"))
        for what in ("shapes", "dtypes")
    )
    assert "SPEC033" not in findings(path)
    assert (
        '*ctx->Shape4ArgNameAndIndex("db", 0) = *ctx->Shape4ArgNameAndIndex("b", 0);'
        in (path / "t_cpp_def.cpp").read_text()
    )


def test_misspelt_names_are_not_declared(tmp_path: Path) -> None:
    """A name that is almost a declared one is a mistake of the file that has it."""
    path = write_op(tmp_path, attrs=["alpha:float=0.5"])
    edit(path / "t_py_api.py", ('.Attr("alpha"', '.Attr("alhpa"'))
    edit(path / "t_py_kernel.py", ('attrs["alpha"]', 'attrs["alhpa"]'))
    assert fixed(path) == ()
    edit(path / "t_py_api.py", ('.Op("t_forward")', '.Op("t_foward")'))
    assert fixed(path) == ()


def test_what_names_do_not_tell_is_left(tmp_path: Path) -> None:
    """An incoming gradient of another name, or a kernel that takes its arguments one by one."""
    path = write_op(tmp_path)
    cut(path, GRADIENT)
    spec = path / "t_cpp_def.cpp"
    spec.write_text(spec.read_text().replace('"dy"', '"whatever"'))
    assert fixed(path) == ()
    cut(path, BACKWARD)
    edit(path / "t_py_kernel.py", ("    x, dy = args\n", "    x = args[0]\n    dy = args[1]\n"))
    assert fixed(path) == ()


def test_what_does_not_parse_is_left(tmp_path: Path) -> None:
    """So are ops that are registered by macros, of which more may come."""
    path = write_op(tmp_path)
    cut(path, GRADIENT)
    spec = path / "t_cpp_def.cpp"
    whole = spec.read_text()
    spec.write_text(whole.replace(".Input(", ".Input((", 1))
    assert fixed(path) == ()
    spec.write_text(
        "#define OP(name) REGISTER_USER_OP(name)\n" + whole.replace('REGISTER_USER_OP("t_forward")', 'OP("t_forward")')
    )
    assert fixed(path) == ()


@pytest.mark.parametrize(("mark", "end"), [(b"\xef\xbb\xbf", b"\n"), (b"", b"\r\n"), (b"\xef\xbb\xbf", b"\r\n")])
def test_marks_and_line_ends_stay(tmp_path: Path, mark: bytes, end: bytes) -> None:
    """Those of Windows editors."""
    path = write_op(tmp_path)
    cut(path, GRADIENT)
    spec = path / "t_cpp_def.cpp"
    spec.write_bytes(mark + spec.read_bytes().replace(b"\n", end))
    assert fixed(path) == ("the gradient of 't_forward'",)
    after = spec.read_bytes()
    assert after.startswith(mark + b"#include")
    assert after.count(b"\n") == after.count(end)
    assert findings(path) == []


def test_the_command(tmp_path: Path) -> None:
    """Without --fix the difference is shown and nothing is written; with it the directory builds."""
    path = write_op(tmp_path)
    cut(path, GRADIENT)
    before = (path / "t_cpp_def.cpp").read_text()
    shown = opkit(tmp_path, "build", "t")
    assert shown.returncode == 3
    assert "opkit build --fix t would write:" in shown.stderr
    assert '+REGISTER_USER_OP_GRAD("t_forward")' in shown.stderr
    assert (path / "t_cpp_def.cpp").read_text() == before
    done = opkit(tmp_path, "build", "--fix", "t")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("fixed t/t_cpp_def.cpp: the gradient of 't_forward'\n")
    again = opkit(tmp_path, "build", "--fix", "t")
    assert "fixed" not in again.stderr
