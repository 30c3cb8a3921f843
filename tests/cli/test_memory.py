"""``opkit run`` keeps freed memory for the next array, unless the user has set malloc's thresholds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import resource
import numpy as np

def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(8_000_000, np.float32)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

faults()
print(faults())
"""


def _faults(tmp_path: Path, **variables: str) -> int:
    job = tmp_path / "job.py"
    job.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "opkit", "run", str(job)],
        capture_output=True,
        text=True,
        timeout=1200,
        env={**os.environ, **variables},
        check=True,
    )
    return int(done.stdout)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only glibc's malloc has these thresholds")
def test_large_arrays_reuse_memory(tmp_path: Path) -> None:
    """Arrays of 32 MB made one after another cause no page faults in a job; with the user's own threshold they do."""
    assert _faults(tmp_path) < 100
    assert _faults(tmp_path, MALLOC_MMAP_THRESHOLD_="1000000") > 1000
