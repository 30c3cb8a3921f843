"""``opkit run --threads``: jobs on several threads without a word of the script's."""

from pathlib import Path

import pytest

from tests.cli.test_commands import opkit

JOB = """import numpy as np
import oneflow as flow
import oneflow.typing as tp
{set}

@flow.global_function()
def job(x: tp.Numpy.Placeholder((4, 3))) -> tp.Numpy:
    return flow.math.reduce_sum(flow.math.relu(x), axis=0)


print(job(np.arange(12, dtype=np.float32).reshape(4, 3) - 3).tolist())
print(job.job.on_devices is not None)
"""


@pytest.mark.parametrize(
    ("threads", "asked", "is_several"), [("1", "", "False"), ("3", "", "True"), ("3", "flow.config.cpu_device_num(1)", "False")]
)
def test_a_job_runs_on_as_many_threads(threads: str, asked: str, is_several: str, tmp_path: Path) -> None:
    """The results are those of one thread; a number of devices that the script sets stays."""
    (tmp_path / "job.py").write_text(JOB.format(set=asked))
    ran = opkit(tmp_path, "run", "--threads", threads, "job.py")
    assert ran.stdout.split("\n")[:2] == ["[9.0, 12.0, 15.0]", is_several], ran.stderr
