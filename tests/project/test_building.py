"""``build`` finds what is wrong with an op directory as a whole: each finding with its code, line and column."""

from pathlib import Path

import pytest

from opkit.diagnostics import Diagnostic, Severity
from opkit.project import Build, build, discover, scaffold
from opkit.settings import settings
from tests.project.opdir import edit, place, write_op


def built(folder: Path) -> Build:
    """Build what is below a folder."""
    return build(discover([folder]))


def sole(folder: Path) -> Diagnostic:
    """Return the one finding of a folder."""
    (finding,) = built(folder).diagnostics
    return finding


def test_scaffolded_ops_have_no_findings(tmp_path: Path) -> None:
    """Every kind, with and without attributes and gradient, builds without a finding."""
    for kind in ("elementwise", "binary", "reduction", "matmul", "loss"):
        write_op(tmp_path, f"plain_{kind}", kind)
        write_op(tmp_path, f"attrs_{kind}", kind, attrs=["alpha:float=0.1", "mode:str=a", "axes:ints=0"])
        write_op(tmp_path, f"forward_{kind}", kind, grad=False)
    result = built(tmp_path)
    assert result.diagnostics == ()
    assert len(result.loaded) == 15


@pytest.mark.parametrize(
    ("old", "new", "code", "help"),
    [
        ('.Op("t_forward")', '.Op("t_foward")', "PROJ007", "did you mean 't_forward'?"),
        ('.Input("x"', '.Input("in"', "PROJ008", "its one input is 'x'"),
        ('.Output("y")', '.Output("out")', "PROJ008", "its one output is 'y'"),
        ('.Attr("alpha"', '.Attr("alhpa"', "PROJ009", "did you mean 'alpha'?"),
    ],
)
def test_names_of_the_api_file(tmp_path: Path, old: str, new: str, code: str, help: str) -> None:
    """A name in a builder call that the definitions do not have is an error at that very name."""
    path = write_op(tmp_path, attrs=["alpha:float=0.1"])
    api = path / "t_py_api.py"
    edit(api, (old, new))
    found = [item for item in built(tmp_path).diagnostics if item.code == code]
    (finding,) = found
    literal = new[new.index('"') :].rstrip(")")
    assert (finding.span.line, finding.span.col) == place(api, literal)
    assert finding.span.text == literal
    assert finding.help == help
    assert finding.severity is Severity.ERROR


def test_nothing_is_said_of_op_types_where_the_definitions_do_not_parse(tmp_path: Path) -> None:
    """An op type that the parser never reached is not called undefined."""
    path = write_op(tmp_path)
    spec = path / "t_cpp_def.cpp"
    spec.write_text(spec.read_text().replace('REGISTER_USER_OP("t_forward")', 'REGISTER_USER_OP("t_forward"', 1))
    codes = {item.code for item in built(tmp_path).diagnostics}
    assert codes
    assert "PROJ007" not in codes


@pytest.mark.parametrize(("call", "kind"), [('.Input("b", [b])', "input"), ('.Output("y")', "output")])
def test_left_out_arguments(tmp_path: Path, call: str, kind: str) -> None:
    """A builder that leaves out an argument is an error that says how to add it."""
    path = write_op(tmp_path, "s", "binary")
    edit(path / "s_py_api.py", (f"        {call}\n", ""))
    finding = sole(tmp_path)
    assert finding.code == "PROJ014"
    assert f"leaves out its {kind}" in finding.message


def test_builder_in_a_variable(tmp_path: Path) -> None:
    """A chain that is spread over assignments to a variable is followed."""
    path = write_op(tmp_path)
    (path / "t_py_api.py").write_text(
        "import oneflow as flow\n\n\ndef t_forward(x, many=()):\n"
        "    builder = flow.user_op_builder('t')\n    builder = builder.Op('t_forward')\n"
        "    builder = builder.Input('xx', [x])\n    builder = builder.Output('y')\n"
        "    return builder.Build().InferAndTryRun().SoleOutputBlob()\n"
    )
    finding = sole(tmp_path)
    assert (finding.code, finding.span.line, finding.span.col) == ("PROJ008", 7, 29)


def test_names_that_are_not_written_out(tmp_path: Path) -> None:
    """Names that only a run can know are not guessed at."""
    path = write_op(tmp_path)
    (path / "t_py_api.py").write_text(
        "import oneflow as flow\n\n\ndef t(op, inputs):\n    builder = flow.user_op_builder('t').Op('t_forward')\n"
        "    for name, value in inputs.items():\n        builder = builder.Input(name, [value])\n"
        "    return builder.Output('y').Build()\n\n\ndef other(op, x):\n"
        "    return flow.user_op_builder('t').Op(op).Input('anything', [x]).Build()\n"
    )
    assert built(tmp_path).diagnostics == ()


def test_position_after_wide_characters(tmp_path: Path) -> None:
    """Columns count characters, also behind text that UTF-8 needs several bytes for."""
    path = write_op(tmp_path)
    (path / "t_py_api.py").write_text(
        "import oneflow as flow\n\n\ndef t(x):\n    "
        "'größe'; return flow.user_op_builder('é').Op('t_forward').Input('q', [x]).Output('y').Build()\n"
    )
    finding = sole(tmp_path)
    assert (finding.span.line, finding.span.text) == (5, "'q'")


def test_api_file_that_does_not_parse(tmp_path: Path) -> None:
    """A syntax error of the API file has its line and column."""
    path = write_op(tmp_path)
    (path / "t_py_api.py").write_text("import oneflow as flow\n\ndef t(:\n")
    finding = sole(tmp_path)
    assert (finding.code, finding.span.line, finding.span.col) == ("PROJ013", 3, 7)


def test_kernel_file_that_does_not_parse(tmp_path: Path) -> None:
    """A syntax error of the kernel file has its line."""
    path = write_op(tmp_path)
    edit(path / "t_py_kernel.py", ("def backward(args):", "def backward(args:"))
    finding = sole(tmp_path)
    line, _ = place(path / "t_py_kernel.py", "def backward(args:")
    assert finding.code == "PROJ004"
    assert line <= finding.span.line <= line + 1


def test_kernel_file_that_exits(tmp_path: Path) -> None:
    """A kernel file that calls ``sys.exit`` does not end the build."""
    path = write_op(tmp_path)
    (path / "t_py_kernel.py").write_text("import sys\n\nsys.exit(3)\n")
    finding = sole(tmp_path)
    assert (finding.code, finding.span.line) == ("PROJ004", 3)
    assert "SystemExit" in finding.message


@pytest.mark.parametrize("kernel", ["forward = 3\n", "def forward():\n    return 1\n"])
def test_kernel_that_cannot_be_called(tmp_path: Path, kernel: str) -> None:
    """A kernel that is not a function of the arguments is an error at the op's registration."""
    path = write_op(tmp_path, grad=False)
    (path / "t_py_kernel.py").write_text(kernel)
    finding = sole(tmp_path)
    assert finding.code == "PROJ005"
    assert (finding.span.line, finding.span.col) == place(path / "t_cpp_def.cpp", '"t_forward"')


def test_bare_op_type_runs_forward(tmp_path: Path) -> None:
    """The op type that is the op's bare name has the kernel ``forward``."""
    path = write_op(tmp_path, grad=False)
    for file in ("t_cpp_def.cpp", "t_py_api.py"):
        edit(path / file, ('"t_forward"', '"t"'))
    result = built(tmp_path)
    assert result.diagnostics == ()
    assert result.loaded[0].ops["t"].kernel.where.function == "forward"


def test_op_type_of_another_name(tmp_path: Path) -> None:
    """An op type that does not begin with the op's name is an error: nothing could be its kernel."""
    path = write_op(tmp_path, grad=False)
    for file in ("t_cpp_def.cpp", "t_py_api.py"):
        edit(path / file, ('"t_forward"', '"other_forward"'))
    assert sole(tmp_path).code == "PROJ006"


def test_op_type_that_is_built_in(tmp_path: Path) -> None:
    """An op type that opkit has itself cannot be defined."""
    path = write_op(tmp_path, "relu", grad=False)
    for file in ("relu_cpp_def.cpp", "relu_py_api.py"):
        edit(path / file, ('"relu_forward"', '"relu"'))
    assert "PROJ012" in [item.code for item in built(tmp_path).diagnostics]


def test_op_type_of_two_directories(tmp_path: Path) -> None:
    """The same op type in two directories is an error that names both."""
    one, two = write_op(tmp_path / "one"), write_op(tmp_path / "two")
    found = built(tmp_path).diagnostics
    assert {item.code for item in found} == {"PROJ012"}
    assert str(one) in found[0].message
    assert str(two) in found[0].message
    assert found[0].span.path == str(two / "t_cpp_def.cpp")


def test_missing_device_sub_tag(tmp_path: Path) -> None:
    """An op type that OneFlow would not run in Python is a warning, and no error."""
    path = write_op(tmp_path, grad=False)
    edit(path / "t_cpp_def.cpp", ('    .Attr<std::string>("device_sub_tag", "py")\n', ""))
    finding = sole(tmp_path)
    assert (finding.code, finding.severity) == ("PROJ010", Severity.WARNING)
    assert not built(tmp_path).has_errors


def test_cpp_kernel_is_noted(tmp_path: Path) -> None:
    """Where Python kernels are asked for, a C++ kernel in the directory is noted: it is not what runs."""
    path = write_op(tmp_path)
    (path / "t_cpp_kernel.cpp").touch()
    with settings(kernel="python"):
        finding = sole(tmp_path)
    assert (finding.code, finding.severity) == ("PROJ011", Severity.NOTE)


def test_stem_that_differs(tmp_path: Path) -> None:
    """A definition file that is not named after its folder is an error that gives the right name."""
    scaffold("t", tmp_path)
    (tmp_path / "t").rename(tmp_path / "u")
    finding = next(item for item in built(tmp_path).diagnostics if item.code == "PROJ002")
    assert "'u_cpp_def.cpp'" in finding.message


def test_gradient_that_names_what_forward_has_not(tmp_path: Path) -> None:
    """Undeclared names in a gradient registration are errors, each at its place with the right name."""
    path = write_op(tmp_path)
    spec = path / "t_cpp_def.cpp"
    edit(
        spec,
        ('FwOp().input("x", 0)', 'FwOp().input("in", 0)'),
        ('output_grad("y", 0)', 'output_grad("out", 0)'),
        ('InputGradBind(user_op::OpArg("x", 0)', 'InputGradBind(user_op::OpArg("in", 0)'),
    )
    result = built(tmp_path)
    errors = [item for item in result.diagnostics if item.is_error]
    places = {(item.span.line, item.span.text.strip('"')) for item in errors}
    assert {
        (place(spec, '"in", 0))')[0], "in"),
        (place(spec, '"out", 0))')[0], "out"),
        (place(spec, 'OpArg("in", 0)')[0], "in"),
    } <= places
    assert not result.loaded[0].ops["t_forward"].has_gradient
    assert result.loaded[0].ops["t_forward"].trouble == ""


def test_json(tmp_path: Path) -> None:
    """The JSON form has the contract's keys."""
    write_op(tmp_path, attrs=["alpha:float=0.1"])
    data = built(tmp_path).to_json("0")
    assert data["schema"] == 1
    assert data["ops"][0] == {
        "op": "t_forward",
        "dir": str(tmp_path / "t"),
        "inputs": ["x"],
        "outputs": ["y"],
        "attrs": {
            "alpha": {"type": "float", "default": 0.1},
            "device_sub_tag": {"type": "string", "default": "py"},
        },
        "gradient": True,
        "kernels": ["forward"],
    }
    assert data["diagnostics"] == []


def test_a_cases_file_that_does_not_parse_is_found(tmp_path: Path) -> None:
    """Building reads it; it is not run."""
    (write_op(tmp_path) / "t_cases.py").write_text("raise SystemExit\ndef cases(rng:\n")
    assert (sole(tmp_path).code, sole(tmp_path).span.location.line) == ("PROJ015", 2)


def test_a_cases_file_of_another_name_is_a_note(tmp_path: Path) -> None:
    """Nothing reads it; one whose op has its own cases may belong to something else."""
    folder = write_op(tmp_path)
    (folder / "tt_cases.py").write_text("")
    (folder / "t_cases.py").unlink(missing_ok=True)
    assert (sole(tmp_path).code, sole(tmp_path).severity) == ("PROJ034", Severity.NOTE)
    (folder / "t_cases.py").write_text("")
    assert not built(tmp_path).diagnostics
