"""``opkit new --from``: what is written, checked and refused."""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_commands import opkit


def test_a_formula_becomes_a_checked_op_and_a_job(tmp_path: Path) -> None:
    """One command writes and checks; the job trains through the op and its loss falls."""
    made = opkit(tmp_path, "new", "swish", "--from", "x * sigmoid(beta * x)", "--attr", "beta:float=1.0", "--job")
    assert (made.returncode, "1 op: 1 pass" in made.stdout) == (0, True)
    run = opkit(tmp_path, "run", "job.py")
    first, last = (float(word) for word in run.stdout.replace(",", "").split() if word[:2] in ("0.", "-0", "1."))
    assert last < first
    assert opkit(tmp_path, "test", "swish", "--", "-q").returncode == 0


def test_written_cases_give_an_attribute_two_values(tmp_path: Path) -> None:
    """A backward that is right at the default alone is not right."""
    words = ("new", "attend", "--from", "softmax(q @ transpose(k) * s, axis=-1) @ v", "--attr", "s:float=0.5")
    opkit(tmp_path, *words)
    assert 'yield {**case, "s": 1.5}' in (tmp_path / "attend" / "attend_cases.py").read_text()


def test_what_the_cases_leave_out_is_said(tmp_path: Path) -> None:
    """A formula that is not finite everywhere gets cases where it is: that half of the numbers is missing is a note."""
    made = opkit(tmp_path, "new", "angle", "--from", "arctan2(y, x)", "--dry-run")
    assert "note: angle_cases.py draws x other than 0: " in made.stderr
    assert "note" not in opkit(tmp_path, "new", "cube", "--from", "x**3", "--dry-run").stderr


def test_what_becomes_an_input_unasked_is_said(tmp_path: Path) -> None:
    """A parameter whose --attr was forgotten is one; what --input names needs no words."""
    words = ("new", "t", "--from", "alpha * x", "--dry-run")
    said = [opkit(tmp_path, *words, *more).stderr for more in ((), ("--attr", "alpha:float=2"), ("--input", "x", "--input", "alpha"))]
    assert ["alpha, x are inputs; --attr" in text for text in said] == [True, False, False]


def test_how_a_choice_is_written_is_said(tmp_path: Path) -> None:
    """Whatever a function of conditions is called elsewhere."""
    for text in ("Piecewise((x, x > 0), (0, True))", "select([x > 0, x < 0], [x, -x])"):
        assert "where(c, x, y), or x if c else y" in opkit(tmp_path, "new", "t", "--from", text).stderr
    assert "softmax, softplus" in opkit(tmp_path, "new", "t", "--from", "Heavi(x)").stderr


def test_dry_run_writes_nothing(tmp_path: Path) -> None:
    """The files are printed with their names."""
    made = opkit(tmp_path, "new", "t", "--from", "y = x*cos(t); z = x*sin(t)", "--dry-run")
    assert made.returncode == 0
    assert "== t/t_py_kernel.py" in made.stdout
    assert list(tmp_path.iterdir()) == [tmp_path / ".cache"] or not (tmp_path / "t").exists()


def test_a_function_of_a_file_becomes_an_op(tmp_path: Path) -> None:
    """Its signature gives inputs and attributes."""
    (tmp_path / "ops.py").write_text(
        "import numpy as np\n\n\ndef decay(x, t, rate=0.5):\n    e = np.exp(-rate * t)\n    return x * e\n"
    )
    made = opkit(tmp_path, "new", "decay", "--from", "ops.py::decay")
    assert made.returncode == 0
    assert 'Attr<float>("rate", 0.5)' in (tmp_path / "decay" / "decay_cpp_def.cpp").read_text()


def test_what_is_no_formula_is_a_usage_error(tmp_path: Path) -> None:
    """The nearest function is named, and nothing is written."""
    made = opkit(tmp_path, "new", "t", "--from", "sofmax(x)")
    assert (made.returncode, made.stdout) == (2, "")
    assert "softmax" in made.stderr
    assert not (tmp_path / "t").exists()


def test_one_number_is_of_arrays_that_have_an_axis(tmp_path: Path) -> None:
    """Its shape is (1,), and so would be the gradient of an input without axes: what is written passes its own check."""
    for number, text in enumerate(["sum(x)", "sum(x * y)", "norm(x)", "y = x * sum(x); z = max(x)"]):
        made = opkit(tmp_path, "new", f"total{number}", "--from", text)
        assert (text, made.returncode, "1 op: 1 pass" in made.stdout) == (text, 0, True)
    assert "x must have at least one axis" in (tmp_path / "total0" / "total0_cpp_def.cpp").read_text()
