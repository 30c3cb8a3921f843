"""Backward ops and gradient registrations: which op types a check begins with, and what is called forgotten."""

from pathlib import Path

import numpy as np
import pytest

from opkit.diagnostics import Severity
from opkit.project import build, discover, load
from opkit.project.directory import op_directory_of
from opkit.project.loading import assemble
from tests.project.opdir import edit, place, write_op
from tests.project.test_loading import X, run

SCALE = """
REGISTER_USER_OP("%s").Input("x").Output("y").Attr<std::string>("device_sub_tag", "py")
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged);
}  // namespace oneflow
"""


def with_type(folder: Path, op_type: str, **options: object) -> Path:
    """A scaffolded op with one more op type, elementwise, whose kernel doubles."""
    path = write_op(folder, "my", **options)
    spec = path / "my_cpp_def.cpp"
    head, _, _ = spec.read_text().rpartition("}  // namespace oneflow")
    spec.write_text(head + SCALE % op_type)
    with (path / "my_py_kernel.py").open("a") as kernel:
        kernel.write(f"\n\ndef {op_type[3:]}(args):\n    (x,) = args\n    return 2 * x\n")
    return path


def without_registration(folder: Path, name: str = "t") -> Path:
    """A scaffolded op whose gradient registration is taken out of its definitions."""
    path = write_op(folder, name)
    spec = path / f"{name}_cpp_def.cpp"
    head, _, tail = spec.read_text().partition("REGISTER_USER_OP_GRAD")
    spec.write_text(head + tail[tail.rindex("});") + 3 :])
    return path


@pytest.mark.parametrize("op_type", ["my_grad_scale", "my_backward_pass", "my_norm_grad", "my_scale"])
def test_a_forward_op_with_a_name_like_a_gradients_is_checked(tmp_path: Path, op_type: str) -> None:
    """Only what a gradient builds is left out of a check, whatever an op type is called."""
    assert load(with_type(tmp_path, op_type)).forward_ops == ("my_forward", op_type)


def test_a_builder_call_in_other_code_is_not_a_gradient(tmp_path: Path) -> None:
    """An op type that is spelled in a comment or a string of the definitions is still checked."""
    path = with_type(tmp_path, "my_scale")
    edit(path / "my_cpp_def.cpp", ("namespace oneflow {", '// builder.Op("my_scale")\nnamespace oneflow {'))
    assert "my_scale" in load(path).forward_ops


def test_a_backward_op_without_a_registration_is_an_error(tmp_path: Path) -> None:
    """A backward op whose forward has no gradient registration is an error at the backward op's name."""
    path = without_registration(tmp_path)
    (finding,) = build(discover([path])).diagnostics
    assert (finding.code, finding.severity, finding.subject) == ("PROJ017", Severity.ERROR, "t_backward")
    assert (finding.span.line, finding.span.col) == place(path / "t_cpp_def.cpp", '"t_backward"')
    assert finding.help.startswith('add REGISTER_USER_OP_GRAD("t_forward")')


def test_forward_is_used_without_a_registration(tmp_path: Path) -> None:
    """The forward op of a forgotten registration loads and computes."""
    loaded = load(without_registration(tmp_path))
    np.testing.assert_allclose(run(loaded, "t_forward", X), np.logaddexp(X, 0), rtol=1e-6)
    assert loaded.forward_ops == ("t_forward",)


def test_a_forward_op_that_is_the_bare_name(tmp_path: Path) -> None:
    """The rule knows a forward op that is called as the directory, and the ending ``_grad``."""
    path = without_registration(tmp_path)
    edit(path / "t_cpp_def.cpp", ('"t_forward"', '"t"'), ('"t_backward"', '"t_grad"'))
    edit(path / "t_py_api.py", ('"t_forward"', '"t"'))
    edit(path / "t_py_kernel.py", ("def backward", "def grad"))
    assert [item.code for item in build(discover([path])).diagnostics] == ["PROJ017"]


def test_a_gradient_that_builds_another_type_is_a_warning(tmp_path: Path) -> None:
    """Where forward has a gradient, a backward op that it does not use is a warning, and is checked as an op of its own."""
    loaded = assemble(op_directory_of(with_type(tmp_path, "my_grad")))
    (finding,) = loaded.diagnostics
    assert (finding.code, finding.severity, finding.subject) == ("PROJ018", Severity.WARNING, "my_grad")
    assert "builds 'my_backward'" in finding.message
    assert loaded.forward_ops == ("my_forward", "my_grad")


def test_a_registration_with_errors_is_not_forgotten(tmp_path: Path) -> None:
    """A misspelt op type in the registration is one finding, not two."""
    path = write_op(tmp_path)
    edit(path / "t_cpp_def.cpp", ('OpTypeName("t_backward")', 'OpTypeName("t_backwards")'))
    loaded = assemble(op_directory_of(path))
    assert [item.code for item in loaded.diagnostics] == ["SPEC049"]
    assert loaded.forward_ops == ("t_forward",)


def test_a_registration_that_does_not_parse_is_not_forgotten(tmp_path: Path) -> None:
    """Where the registration may stand in what could not be read, nothing is called forgotten."""
    path = write_op(tmp_path)
    edit(path / "t_cpp_def.cpp", ('REGISTER_USER_OP_GRAD("t_forward")', 'REGISTER_USER_OP_GRAD("t_forward" "b"'))
    assert "PROJ017" not in [item.code for item in build(discover([path])).diagnostics]


def test_no_gradient_on_purpose(tmp_path: Path) -> None:
    """An op that is registered as having no gradient has forgotten none."""
    path = without_registration(tmp_path)
    edit(path / "t_cpp_def.cpp", ('REGISTER_USER_OP("t_forward")', 'REGISTER_NO_GRAD_USER_OP("t_forward")'))
    assert build(discover([path])).diagnostics == ()
