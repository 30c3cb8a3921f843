"""`opkit new NAME --input ... --output ...`: an op with these names that builds, passes and runs as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from opkit.errors import UsageError
from opkit.project import build, discover, scaffold_signature
from tests.cli.test_commands import opkit

MANY = ["k:int32", "x:float32", "w"]


def test_a_signature_of_several_dtypes_passes(tmp_path: Path) -> None:
    """Inputs of both kinds, two outputs, an attribute; the check, the op's own tests and its job."""
    scaffold_signature("t", tmp_path, MANY, ["u", "v"], ["s:float=2.0"], job=True)
    tested = opkit(tmp_path, "test")
    assert tested.returncode == 0, tested.stdout
    ran = opkit(tmp_path, "run", "job.py")
    assert ran.returncode == 0, ran.stderr


def test_a_signature_says_what_it_computes_without_needless_brackets(tmp_path: Path) -> None:
    """On the screen and in the kernel, which holds brackets where a factor needs them alone."""
    told = opkit(tmp_path, "new", "t", "--input", "x", "--input", "w", "--output", "u")
    assert "t computes u = sin(x) + cos(w), elementwise." in told.stderr
    kernel = (tmp_path / "t" / "t_py_kernel.py").read_text()
    assert '"""u = sin(x) + cos(w), elementwise."""' in kernel
    assert "    u = np.sin(x) + np.cos(w)\n" in kernel
    scaffold_signature("s", tmp_path, ["x", "w", "k:int32"], ["u"], ["a:float=2.0"])
    kernel = (tmp_path / "s" / "s_py_kernel.py").read_text()
    assert "    u = a * (np.sin(x) + np.cos(w)) * k.astype(x.dtype)\n" in kernel


@pytest.mark.parametrize("grad", [True, False])
@pytest.mark.parametrize(
    ("inputs", "outputs"), [(["x"], []), ([], ["z"]), (MANY, ["u"]), (["a", "b:float64"], ["u", "v", "w"])]
)
def test_signatures_build(tmp_path: Path, inputs: list[str], outputs: list[str], grad: bool) -> None:
    """With the names that were given, x and y where none were."""
    scaffold_signature("t", tmp_path, inputs, outputs, grad=grad)
    result = build(discover([tmp_path]))
    assert [item.message for item in result.diagnostics] == []
    op = result.loaded[0].result.ops["t_forward"]
    assert [arg.name for arg in op.inputs] == ([text.partition(":")[0] for text in inputs] or ["x"])
    assert [arg.name for arg in op.outputs] == (outputs or ["y"])


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        (["x", "x"], [], "'x' is taken"),
        (["x", "y"], ["y"], "'y' is taken"),
        (["x", "dx"], [], "'x' is taken"),
        (["args"], [], "'args' is taken"),
        (["k:int32"], [], "no input is a float"),
        (["x:flaot32"], [], "did you mean 'float32'?"),
        (["1x"], [], "not an identifier"),
    ],
)
def test_names_that_cannot_be_used(tmp_path: Path, inputs: list[str], outputs: list[str], message: str) -> None:
    """Are refused, and nothing is written."""
    with pytest.raises(UsageError) as caught:
        scaffold_signature("t", tmp_path, inputs, outputs)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_command(tmp_path: Path) -> None:
    """A kind has a signature of its own."""
    assert opkit(tmp_path, "new", "t", "--input", "x:float32", "--output", "z").returncode == 0
    assert opkit(tmp_path, "new", "u", "--input", "x", "--kind", "loss").returncode == 2
    assert opkit(tmp_path, "new", "u", "--dry-run").returncode == 2
