"""The sample that trains a LeNet with a custom activation on real digits (UCI's, as scikit-learn ships them)."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "sample_ops" / "lenet_digits"


@pytest.mark.peer
def test_it_reads_more_than_97_of_100_digits_and_evaluation_loads_what_training_saved(tmp_path: Path) -> None:
    """Two processes: one trains and saves, one loads and counts."""
    pytest.importorskip("sklearn", reason="scikit-learn is not installed: its digits are what the sample learns from")
    for script in ("train.py", "evaluate.py"):
        done = subprocess.run(
            [sys.executable, "-m", "opkit", "run", str(SAMPLE / script), str(tmp_path / "model")],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    found = re.search(r"accuracy: ([\d.]+)%", done.stdout)
    assert found is not None
    assert float(found.group(1)) > 97.0
