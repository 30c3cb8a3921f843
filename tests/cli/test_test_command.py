"""``opkit test``: every op directory becomes a build and a gradcheck item, and its own tests run."""

import subprocess
import sys
from pathlib import Path

from tests.cli.test_commands import opkit
from tests.project.opdir import edit, write_op


def test_items_of_an_op_directory(tmp_path: Path) -> None:
    """A scaffolded op has its two items and its own tests, and all pass; without a gradient no time limit is near."""
    write_op(tmp_path, grad=False)
    ran = opkit(tmp_path, "test", "--", "-v")
    assert ran.returncode == 0, ran.stdout
    for item in (
        "t/t_cpp_def.cpp::build PASSED",
        "t/t_cpp_def.cpp::gradcheck PASSED",
        "t/test_t.py::test_value_at_zero",
    ):
        assert item in ran.stdout


def test_wrong_gradient(tmp_path: Path) -> None:
    """A wrong gradient fails its item with the checker's report, and the status is 1."""
    path = write_op(tmp_path)
    edit(path / "t_py_kernel.py", ("return dy * np.exp", "return 2 * dy * np.exp"))
    ran = opkit(tmp_path, "test")
    assert ran.returncode == 1
    assert "FAIL GC101" in ran.stdout
    assert "t_py_kernel.py" in ran.stdout


def test_what_a_kernel_prints_is_shown_on_request(tmp_path: Path) -> None:
    """Pytest's -s lets through what kernels print, while they run."""
    path = write_op(tmp_path, grad=False)
    kernel = path / "t_py_kernel.py"
    kernel.write_text(kernel.read_text().replace("    return", "    print('kernel was here')\n    return", 1))
    ran = opkit(tmp_path, "test", "--", "-s", "-k", "gradcheck")
    assert ran.returncode == 0, ran.stdout
    assert "kernel was here" in ran.stdout + ran.stderr


def test_directory_that_does_not_build(tmp_path: Path) -> None:
    """A directory with errors fails its build item with the diagnostics, and the status is 3."""
    path = write_op(tmp_path)
    edit(path / "t_py_api.py", ('.Op("t_forward")', '.Op("t_foward")'))
    ran = opkit(tmp_path, "test")
    assert ran.returncode == 3
    assert "error[PROJ007]" in ran.stdout
    assert "did you mean 't_forward'?" in ran.stdout


def test_a_test_file_that_does_not_import_hides_no_build(tmp_path: Path) -> None:
    """A misspelt kernel function breaks the import of the op's own tests: the build item says which, the status is 3."""
    path = write_op(tmp_path, grad=False)
    edit(path / "t_py_kernel.py", ("def forward", "def foward"))
    ran = opkit(tmp_path, "test")
    assert ran.returncode == 3
    assert "did you mean 'foward'?" in ran.stdout


def test_a_test_file_that_does_not_import_is_a_failure(tmp_path: Path) -> None:
    """Nobody interrupted the run: the status is 1."""
    (tmp_path / "test_own.py").write_text("import no_such_module_at_all\n")
    assert opkit(tmp_path, "test").returncode == 1


def test_own_tests_may_import_the_frameworks(tmp_path: Path) -> None:
    """An op's own tests get opkit's oneflow, and can run the op through it."""
    path = write_op(tmp_path)
    (path / "test_job.py").write_text(
        "import os\nimport numpy as np\nimport oneflow as flow\n\n"
        "def test_op():\n"
        "    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\n"
        "    op = flow.experimental.custom_op_module('t', here)\n"
        "    op.py_api().cpp_def().py_kernel().build_load()\n"
        "    y = op.api.t_forward(np.zeros(2, np.float32))\n"
        "    assert np.allclose(y.numpy(), np.log(2))\n"
    )
    ran = opkit(tmp_path, "test", "t", "--", "-k", "test_op")
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


def test_nothing_to_test(tmp_path: Path) -> None:
    """A folder without tests and ops has status 5, a path that does not exist status 2."""
    assert opkit(tmp_path, "test").returncode == 5
    assert opkit(tmp_path, "test", "nowhere").returncode == 2


def test_several_ops(tmp_path: Path) -> None:
    """All op directories below a folder are collected."""
    write_op(tmp_path, "one")
    write_op(tmp_path / "deep", "two", "matmul")
    ran = opkit(tmp_path, "test", "--", "--collect-only", "-q")
    for item in (
        "one/one_cpp_def.cpp::build",
        "deep/two/two_cpp_def.cpp::gradcheck",
        "deep/two/test_two.py::test_shape",
    ):
        assert item in ran.stdout


def test_plain_pytest_takes_the_plugin(tmp_path: Path) -> None:
    """Plain pytest collects op directories with ``-p opkit.pytest_plugin``, and does not without it."""
    write_op(tmp_path)
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    plain = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    with_plugin = subprocess.run(
        [*command, "-p", "opkit.pytest_plugin"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "t_cpp_def.cpp" not in plain.stdout
    assert "t/t_cpp_def.cpp::build" in with_plugin.stdout


def test_settings_that_name_the_plugin_add_nothing(tmp_path: Path) -> None:
    """Where plain pytest takes it, ``opkit test`` had every item twice, and a warning of pytest's."""
    write_op(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.pytest.ini_options]\naddopts = "-p opkit.pytest_plugin"\n')
    ran = opkit(tmp_path, "test", "--", "--collect-only", "-q")
    assert ran.stdout.count("t_cpp_def.cpp::build") == 1
    assert "PytestAssertRewriteWarning" not in ran.stdout


def test_the_summary_names_the_cause(tmp_path: Path) -> None:
    """The last lines have the code and what was found, of checks and of builds."""
    path = write_op(tmp_path)
    edit(path / "t_py_kernel.py", ("return dy * np.exp", "return 2 * dy * np.exp"))
    edit(write_op(tmp_path, "u") / "u_py_api.py", ('.Op("u_forward")', '.Op("u_foward")'))
    summary = opkit(tmp_path, "test", "--", "-k", "gradcheck", COLUMNS="160").stdout.rpartition("short test summary")[2]
    assert "t/t_cpp_def.cpp::gradcheck - GC101: d y[" in summary
    assert "u/u_cpp_def.cpp::gradcheck - PROJ007: no op type 'u_foward' is defined" in summary


def test_two_directories_of_one_op_type_are_named(tmp_path: Path) -> None:
    """A job can load one of them: the build items fail as `opkit build` does, and the report has a note."""
    for folder in (tmp_path, tmp_path / "deep"):
        write_op(folder, grad=False)
    ran = opkit(tmp_path, "test", "--", "-k", "build")
    assert (ran.returncode, "PROJ012" in ran.stdout) == (3, True)
    ran = opkit(tmp_path, "gradcheck", "--effort", "0.02")
    assert ran.stdout.count("op type of this name is defined in deep/t too") == 1
