"""Workers of a cluster killed in each phase of a job: it ends soon, with a word, whole checkpoints and no orphan.

    python -m tests.campaigns.lost_workers [--times 10] [--phase start|step|boxing|checkpoint|campaign]

Each run trains on ``local:2`` in a process of its own; one worker, drawn at random, gets SIGKILL at a random moment of
the phase. A run is good if it ends within 30 s of that, with status 1 and the worker's address, or ends well because the
kill came too late; its losses are one device's as far as they go; the checkpoint is whole or not there; no worker
process is left. In a campaign (``opkit gradcheck --cluster``) the report must be that of a run without a cluster, and
come within 30 s of what that took. Needs Dask.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from opkit.oneflow.semantics.checkpoint import CheckpointError, read_checkpoint

JOB = '''
import sys
import numpy as np
import oneflow as flow
import oneflow.typing as tp

WIDTH, STEPS = int(sys.argv[1]), int(sys.argv[2])
flow.config.cpu_device_num(int(sys.argv[3]))

@flow.global_function(type="train")
def job(x: tp.Numpy.Placeholder((16, WIDTH)), t: tp.Numpy.Placeholder((16,), dtype=flow.int32)) -> tp.Numpy:
    init = flow.random_normal_initializer(stddev=0.02)
    h = flow.layers.dense(x, WIDTH, activation=flow.nn.relu, kernel_initializer=init, name="a")
    y = flow.layers.dense(h, 10, kernel_initializer=init, name="b", model_distribute=flow.distribute.split(0))
    loss = flow.nn.sparse_softmax_cross_entropy_with_logits(t, y)
    flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.01]), momentum=0.9).minimize(loss)
    return loss

rng = np.random.default_rng(0)
print("begin", flush=True)
for step in range(STEPS):
    x = rng.normal(size=(16, WIDTH)).astype(np.float32)
    print("loss", job(x, rng.integers(0, 10, 16).astype(np.int32)).mean(), flush=True)
if len(sys.argv) > 4:
    print("saving", flush=True)
    flow.checkpoint.save(sys.argv[4])
print("end", flush=True)
'''
#: Width of the layers, steps, the line after which a worker is killed, and how long after it at most.
PHASES = {
    "start": (64, 3, "begin", 3.0),
    "step": (64, 400, "loss", 2.0),
    "boxing": (1500, 30, "loss", 2.0),
    "checkpoint": (2500, 1, "saving", 1.5),
}

#: What a campaign checks.
CHECK = ("ops", "--format", "json", "--no-replay", "--jobs", "1")


def workers_of(parent: int) -> list[int]:
    """Return the worker processes that a process has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                owner = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            if owner == parent and b"distributed.cli.dask_worker" in words:
                found.append(int(entry.name))
    return found


def alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]]


def report_of(text: str) -> object:
    """Return a JSON report without times and places."""
    def bare(item: object) -> object:
        if isinstance(item, dict):
            return {key: bare(value) for key, value in item.items() if key not in ("seconds", "version", "directory")}
        return [bare(value) for value in item] if isinstance(item, list) else item
    return bare(json.loads(text))


def campaign(folder: Path, rng: random.Random, expected: object, alone: float) -> str:
    """Check ops on a cluster of which a worker is killed; return what is wrong, "" where nothing is."""
    out = (folder / "out").open("w+")
    child = subprocess.Popen(
        [sys.executable, "-m", "opkit", "gradcheck", "--cluster", "local:2", *CHECK],
        stdout=out, stderr=(folder / "err").open("w"), cwd=folder.parent,
    )
    began = time.monotonic()
    pids: list[int] = []
    while len(pids) < 2 and child.poll() is None and time.monotonic() - began < 60:
        pids = workers_of(child.pid)
        time.sleep(0.02)
    time.sleep(rng.uniform(0.5, 3 + alone))
    pids = workers_of(child.pid) or pids
    victim = rng.choice(pids) if pids and child.poll() is None else 0
    if victim:
        os.kill(victim, signal.SIGKILL)
    try:
        child.wait(alone + 60)
    except subprocess.TimeoutExpired:
        child.kill()
        return "hangs"
    took = time.monotonic() - began
    time.sleep(1.0)
    if left := alive(pids):
        return f"orphans {left}"
    text = (folder / "out").read_text()
    error = (folder / "err").read_text()
    if "worker processes were started here" in error or "is lost: it was asked for its versions" in error:
        return "" if child.returncode == 1 and took < 30 else f"status {child.returncode} after {took:.0f} s"
    if not text or report_of(text) != expected:
        return f"another report, status {child.returncode}: {(folder / 'err').read_text()[-400:]}"
    if took > 2 * alone + 40:
        return f"took {took:.0f} s, without a cluster {alone:.0f} s"
    return "" if victim else "late"


def campaigns(folder: Path, times: int) -> int:
    """Run campaigns with lost workers; return how many are bad."""
    for directory in sorted(Path(__file__).parents[2].glob("sample_ops/*")):
        if list(directory.glob("*_cpp_def.cpp")):
            shutil.copytree(directory, folder / "ops" / directory.name)
    began = time.monotonic()
    words = [sys.executable, "-m", "opkit", "gradcheck", *CHECK]
    ran = subprocess.run(words, capture_output=True, text=True, cwd=folder, check=False)
    expected, alone = report_of(ran.stdout), time.monotonic() - began
    rng, bad = random.Random("campaign"), 0
    for number in range(times):
        (folder / str(number)).mkdir()
        said = campaign(folder / str(number), rng, expected, alone)
        bad += said not in ("", "late")
        print(f"campaign {number}: {said or 'good'}", flush=True)
    return bad


def losses(text: str) -> list[float]:
    return [float(line.split()[1]) for line in text.splitlines() if line.startswith("loss ")]


def one(phase: str, folder: Path, rng: random.Random, expected: list[float]) -> str:
    """Run once; return what is wrong, "" where nothing is, "late" where the kill came too late."""
    width, steps, line, most = PHASES[phase]
    saved = folder / "saved"
    words = [str(width), str(steps), "2", *([str(saved)] if phase == "checkpoint" else [])]
    out = (folder / "out").open("w+")
    child = subprocess.Popen(
        [sys.executable, "-m", "opkit", "run", "--cluster", "local:2", str(folder / "job.py"), *words],
        stdout=out, stderr=(folder / "err").open("w"),
    )
    began = time.monotonic()
    while line not in (folder / "out").read_text() and child.poll() is None and time.monotonic() - began < 60:
        time.sleep(0.01)
    time.sleep(rng.uniform(0, most))
    pids = workers_of(child.pid)
    victim = rng.choice(pids) if pids else 0
    killed = time.monotonic()
    if victim:
        os.kill(victim, signal.SIGKILL)
    try:
        status = child.wait(45)
    except subprocess.TimeoutExpired:
        child.kill()
        return "hangs"
    took = time.monotonic() - killed
    text, error = (folder / "out").read_text(), (folder / "err").read_text()
    time.sleep(1.0)
    left = alive(pids)
    if left:
        return f"orphans {left}"
    if took > 30:
        return f"took {took:.0f} s"
    if not np.allclose(losses(text), expected[: len(losses(text))], rtol=1e-3):
        return f"losses {losses(text)}"
    if saved.exists():
        try:
            read_checkpoint(saved)
        except CheckpointError as problem:
            return f"torn checkpoint: {problem}"
    if status == 0:
        return "" if not victim or "end" in text else "status 0 without an end"
    if status != 1 or not ("is lost" in error or "worker processes were started here" in error):
        return f"status {status}: {error[-400:]}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--phase", choices=[*PHASES, "campaign"], action="append")
    given = parser.parse_args()
    bad = 0
    for phase in given.phase or [*PHASES, "campaign"]:
        if phase == "campaign":
            with tempfile.TemporaryDirectory(prefix="opkit-lost-") as name:
                bad += campaigns(Path(name), given.times)
            continue
        width, steps, *_ = PHASES[phase]
        rng = random.Random(phase)
        with tempfile.TemporaryDirectory(prefix="opkit-lost-") as name:
            (Path(name) / "job.py").write_text(JOB)
            alone = subprocess.run(
                [sys.executable, "-m", "opkit", "run", f"{name}/job.py", str(width), str(steps), "1"],
                capture_output=True, text=True, check=True,
            )
            for number in range(given.times):
                folder = Path(name) / str(number)
                folder.mkdir()
                (folder / "job.py").write_text(JOB)
                said = one(phase, folder, rng, losses(alone.stdout))
                bad += bool(said)
                print(f"{phase} {number}: {said or 'good'}", flush=True)
    print(f"{bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
