"""The picture of a two-device plan in docs/devices.md: what ``opkit graph`` draws of a small job.

python benchmarks/devices_picture.py        # writes docs/devices-plan.svg
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "docs" / "devices-plan.svg"
JOB = """import oneflow as flow
import oneflow.typing as tp

flow.config.cpu_device_num(2)


@flow.global_function()
def predict(images: tp.Numpy.Placeholder((100, 784))) -> tp.Numpy:
    hidden = flow.layers.dense(images, 512, activation=flow.nn.relu, use_bias=False, name="dense1")
    split = flow.distribute.split(0)
    logits = flow.layers.dense(hidden, 10, use_bias=False, name="dense2", model_distribute=split)
    return flow.nn.softmax(logits)
"""


def picture() -> str:
    """Return the picture as SVG."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "job.py").write_text(JOB)
        words = [sys.executable, "-m", "opkit", "graph", "job.py", "--format", "svg"]
        root = str(TARGET.parents[1])
        return subprocess.run(
            words, cwd=folder, env={"PYTHONPATH": root}, capture_output=True, text=True, check=True
        ).stdout


if __name__ == "__main__":
    TARGET.write_text(picture())
    print(f"wrote {TARGET}")
