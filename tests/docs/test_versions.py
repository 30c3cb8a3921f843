"""The versions that opkit is tested with: one table, which documentation, packaging and continuous integration repeat."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opkit.cli import checkup
from opkit.cli import checkup as versions
from opkit.cli.checkup import TESTED, remark

ROOT = Path(__file__).resolve().parents[2]


def test_the_documentation_states_them() -> None:
    """docs/install.md, row by row."""
    rows = dict(re.findall(r"^\| (\w+) \| (\d[\w. ]*?) \|", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE))
    assert {name.lower(): row for name, row in rows.items()} == {name: versions.tested(name) for name in TESTED}


def test_continuous_integration_runs_them() -> None:
    """Both ends of Python, the newest of JAX, and the oldest of torch beside the newest that there is."""
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert set(re.findall(r'python: \["([\d.]+)", "([\d.]+)"\]', workflow)) == {TESTED["python"]}
    run = (ROOT / ".ci" / "run").read_text()
    assert dict(re.findall(r'"(torch|jax)==([\d.]+)\.\*"', run)) == {"torch": TESTED["torch"][0], "jax": TESTED["jax"][1]}


def test_one_release_of_torch_is_the_newest() -> None:
    """For the doctor, for what a report remarks, and for the page of torch."""
    newest = TESTED["torch"][1]
    code = (ROOT / "opkit" / "verify" / "subjects" / "torch" / "framework.py").read_text()
    assert f"NEWEST = ({newest.replace('.', ', ')})" in code
    assert f"tested with ({newest})" in " ".join((ROOT / "docs" / "torch.md").read_text().split())


@pytest.mark.parametrize(("version", "said"), [("2.13.0+cpu", ""), ("2.14.1", ""), ("2.15.0", "newer"), ("2.9", "older"), ("3.0a1", "newer")])
def test_a_version_beside_them_is_remarked(version: str, said: str) -> None:
    """Numbers are compared as numbers: 2.9 is before 2.13."""
    assert remark("torch", version).startswith(said)
    assert bool(remark("torch", version)) is bool(said)


def test_doctor_marks_what_is_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not called bad."""
    monkeypatch.setattr(checkup.metadata, "version", lambda name: "9.1" if name == "numpy" else "1.0")
    found = {name: (is_good, text) for name, is_good, text in checkup.checkup() if name in ("numpy", "torch")}
    assert found["numpy"] == (True, f"{checkup.UNTESTED}9.1: newer than what opkit is tested with ({versions.tested('numpy')})")
