"""The sample ops build, their gradients pass, their own tests pass, and their jobs print what numpy would."""

import re
from pathlib import Path

import numpy as np
import pytest

from opkit.project import build, discover
from tests.cli.test_commands import opkit

SAMPLES = Path(__file__).resolve().parents[2] / "sample_ops"
NAMES = sorted(path.parent.name for path in SAMPLES.glob("*/*_cpp_def.cpp"))


def numbers(text: str) -> np.ndarray:
    """Return all numbers of a text."""
    return np.array([float(item) for item in re.findall(r"-?\d+\.?\d*(?:e[-+]\d+)?", text)])


def test_there_are_five_with_a_job_each() -> None:
    """Every sample has its job beside it."""
    assert {"user_relu", "user_sigmoid"} <= set(NAMES)
    assert len(NAMES) >= 5
    for name in NAMES:
        assert (SAMPLES / f"{name}_job.py").is_file()


def test_all_build_without_a_finding() -> None:
    """No sample has so much as a note."""
    assert build(discover([SAMPLES])).diagnostics == ()


def test_gradients_and_own_tests(tmp_path: Path) -> None:
    """`opkit test` passes on the samples: their builds, gradients and own tests; their claims are below."""
    (tmp_path / "pyproject.toml").write_text("[tool.opkit]\neffort = 0.2\n")
    ran = opkit(tmp_path, "test", str(SAMPLES), "--", "-p", "no:cacheprovider", "-o", "addopts=", "-k", "not sbp")
    assert ran.returncode == 0, ran.stdout
    assert all(f"{name}_cpp_def.cpp" in ran.stdout for name in NAMES)


EXPECTED = {
    "user_relu": lambda x: np.maximum(x, 0),
    "user_sigmoid": lambda x: 1 / (1 + np.exp(-np.maximum(x, -700))),
    "swish": lambda x: x / (1 + np.exp(-2 * x)),
    "row_norm": lambda x: np.sqrt(np.square(x.reshape(2, 2)).sum(axis=1)),
    "squared_distance": lambda x: np.square(x[:3] - x[3:]),
    "row_softmax": lambda x: np.exp(x) / np.repeat(np.exp(x).reshape(2, 2).sum(axis=1), 2),
}


@pytest.mark.parametrize("name", EXPECTED)
def test_jobs(name: str, tmp_path: Path) -> None:
    """A job prints its inputs, then what the op's formula makes of them."""
    ran = opkit(tmp_path, "run", str(SAMPLES / f"{name}_job.py"))
    assert ran.returncode == 0, ran.stderr
    found = numbers(ran.stdout)
    count = {"row_norm": 4, "row_softmax": 4, "squared_distance": 6}.get(name, 5)
    np.testing.assert_allclose(found[count:], EXPECTED[name](found[:count]), rtol=1e-6, atol=1e-7)


def test_the_false_claim_is_found(tmp_path: Path) -> None:
    """`opkit sbp` refutes the one wrong claim of the samples, proves the others, and says where it stands."""
    ran = opkit(tmp_path, "sbp", str(SAMPLES))
    assert ran.returncode == 1
    assert ran.stdout.count("FAIL SBP") == 1
    assert "S(1) -> S(1) does not hold on 2 devices" in " ".join(ran.stdout.split())
    assert "row_softmax_cpp_def.cpp:22:27" in ran.stdout
    assert "FAIL      row_softmax_forward" in ran.stdout
