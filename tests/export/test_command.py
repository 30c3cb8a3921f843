"""Facts about ``opkit export``: exit statuses, what is written, what is said."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from opkit.cli.app import application
from opkit.export.proof import gradient_trouble
from tests.corpus.model import write
from tests.corpus.ops import OPS
from tests.export.ops import ROW_WISE


def run(folder: Path, *words: str) -> tuple[int, str]:
    """Run the command in a folder; return its status and all that it says."""
    result = CliRunner().invoke(application(), ["export", *words])
    return result.exit_code, result.output


@pytest.fixture
def swish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an op directory; the current folder is its parent."""
    monkeypatch.chdir(tmp_path)
    return write(OPS["swish"], tmp_path)


def test_no_check_writes_both_files(swish: Path) -> None:
    """Status 0; the op's file and its test stand in the current folder."""
    status, said = run(swish, str(swish), "--to", "torch", "--no-check")
    assert status == 0, said
    assert Path("swish_torch.py").is_file()
    assert "from swish_torch import swish" in Path("test_swish_torch.py").read_text()


def test_an_existing_output_is_kept(swish: Path) -> None:
    """Status 2, and the file is as it was."""
    Path("swish_torch.py").write_text("mine")
    status, said = run(swish, str(swish), "--to", "torch", "--no-check")
    assert status == 2
    assert "--force" in said
    assert Path("swish_torch.py").read_text() == "mine"


def test_an_output_without_a_suffix_is_a_folder(swish: Path) -> None:
    """It is made, and both files are written into it."""
    status, said = run(swish, str(swish), "--to", "torch", "--no-check", "--output", "new/sub")
    assert status == 0, said
    assert sorted(path.name for path in Path("new/sub").glob("*.py")) == ["swish_torch.py", "test_swish_torch.py"]


def test_graph_prints_what_was_traced(swish: Path) -> None:
    """One line per operation, nothing is written."""
    status, said = run(swish, str(swish), "--to", "graph")
    assert status == 0
    assert "multiply(" in said
    assert "attr('beta')" in said
    assert not Path("swish_graph.py").exists()


def test_untraceable_under_native_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 1 with the kernel's line; nothing is written."""
    monkeypatch.chdir(tmp_path)
    directory = write(ROW_WISE, tmp_path)
    status, said = run(tmp_path, str(directory), "--to", "jax", "--form", "native", "--no-check")
    assert status == 1
    assert "row_wise_py_kernel.py:5" in said
    assert not Path("row_wise_jax.py").exists()


def test_an_op_that_does_not_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 3."""
    monkeypatch.chdir(tmp_path)
    directory = write(OPS["swish"], tmp_path)
    spec = directory / "swish_cpp_def.cpp"
    spec.write_text(spec.read_text().replace("REGISTER_USER_OP(", "REGISTER_USER_OP(("))
    assert run(tmp_path, str(directory), "--to", "torch", "--no-check")[0] == 3


@pytest.mark.parametrize("words", [("--to", "onnx"), ("--to", "torch", "--form", "fast")])
def test_unknown_targets_and_forms(swish: Path, words: tuple[str, ...]) -> None:
    """Status 2, and what there is is named."""
    status, said = run(swish, str(swish), *words, "--no-check")
    assert status == 2
    assert "it has" in said


def test_a_missing_framework_is_unverified(swish: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Status 1, the extra to install is named, nothing is written; --force writes and says so in the file."""
    monkeypatch.setattr("opkit.export.proof.is_installed", lambda name: False)
    monkeypatch.setattr("opkit.export.api.is_installed", lambda name: False)
    monkeypatch.setattr("opkit.export.api.gradient_trouble", lambda path, ops: "")
    status, said = run(swish, str(swish), "--to", "jax")
    assert status == 1
    assert "opkit[jax]" in said
    assert not Path("swish_jax.py").exists()
    assert run(swish, str(swish), "--to", "jax", "--force")[0] == 1
    assert "Not verified" in Path("swish_jax.py").read_text()


def test_a_wrong_gradient_is_a_row_of_the_proof(tmp_path: Path) -> None:
    """What opkit's own check finds keeps an op from leaving, from the command and from Python alike."""
    directory = write(OPS["swish"], tmp_path)
    kernel = directory / "swish_py_kernel.py"
    kernel.write_text(kernel.read_text().replace("return dy *", "return 1.01 * dy *"))
    assert "swish_forward: fail (GC" in gradient_trouble(str(directory), ["swish_forward"])
    assert gradient_trouble(str(directory), ["another"]) == ""


@pytest.mark.peer
def test_a_wrong_gradient_is_the_reason_not_to_write(swish: Path) -> None:
    """Not torch's own gradcheck, nor a difference between the two: the form is the same op, and it is wrong."""
    pytest.importorskip("torch")
    kernel = swish / "swish_py_kernel.py"
    kernel.write_text(kernel.read_text().replace("return dy *", "return 1.01 * dy *"))
    status, said = run(swish, str(swish), "--to", "torch")
    assert (status, "error: swish: its gradient does not pass opkit gradcheck (swish_forward: fail (GC" in said) == (1, True), said
    assert not Path("swish_torch.py").exists()


def test_what_takes_its_time_is_told(swish: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal each step is named when it begins; a wrong gradient is the reason, not the form, and ends it."""
    from opkit.export import api
    from opkit.export.proof import ProofResult

    rows = (("swish", "gradcheck", "FAIL", "Jacobian mismatch"), ("swish", "opkit gradcheck", "FAIL", "GC101: wrong"))
    monkeypatch.setattr(api, "gradient_trouble", lambda path, ops: "GC101: wrong")
    monkeypatch.setattr(api, "is_installed", lambda name: True)
    monkeypatch.setattr(api, "prove", lambda *args, **options: ProofResult("torch", "2", rows))
    told: list[str] = []
    made = api.export(str(swish), told=told.append)
    assert told == ["its gradient is checked by opkit gradcheck", "the native form is proved in torch, in a process of its own"]
    assert (made.form, made.note) == ("native", "")
    status, said = run(swish, str(swish), "--to", "torch")
    assert status == 1
    assert "error: swish: its gradient does not pass opkit gradcheck (GC101: wrong); nothing is written" in said
    assert "is not the same op" not in said
