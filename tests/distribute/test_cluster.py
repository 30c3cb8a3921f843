"""Jobs on workers of a cluster: one device's results; what is said where a cluster cannot be used or a worker is lost."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
import opkit.oneflow.typing as tp
from opkit.distribute.cluster import connection
from opkit.errors import OpkitError, UsageError
from opkit.oneflow.session import clear_default_session
from opkit.ops.basis import random
from opkit.settings import settings

pytestmark = pytest.mark.filterwarnings("ignore")
F = np.float32


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("distributed", reason="Dask is not installed: a cluster cannot be started")
    found = connection.connect("local:2")
    yield found
    connection._close_all()


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    clear_default_session()
    yield
    clear_default_session()


def job_of(devices: int, *, mirrored: bool = False) -> Any:
    clear_default_session()
    random.seed(4)
    flow.config.cpu_device_num(devices)
    config = flow.FunctionConfig()
    batch = 6
    kind = tp.Numpy
    if mirrored:
        config.default_logical_view(flow.scope.mirrored_view())
        kind, batch = tp.ListNumpy, 6 // devices

    def job(x: Any, t: Any) -> Any:
        init = flow.random_normal_initializer(stddev=0.4)
        h = flow.layers.dense(x, 8, activation=flow.nn.relu, kernel_initializer=init, name="a")
        if not mirrored:
            h = flow.nn.dropout(h, rate=0.2)
        y = flow.layers.dense(h, 4, kernel_initializer=init, name="b", model_distribute=flow.distribute.split(0))
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(t, y)
        flow.optimizer.Adam(flow.optimizer.PiecewiseConstantScheduler([], [0.1])).minimize(loss)
        return loss

    job.__annotations__ = {
        "x": kind.Placeholder((batch, 5)), "t": kind.Placeholder((batch,), dtype=flow.int32), "return": kind,
    }
    return flow.global_function(type="train", function_config=config)(job)


def batches(count: int = 3) -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [(rng.normal(size=(6, 5)).astype(F), rng.integers(0, 4, 6).astype(np.int32)) for _ in range(count)]


def variables() -> dict[str, np.ndarray]:
    return {name: item.numpy() for name, item in flow.get_all_variables().items()}


@pytest.mark.peer
@pytest.mark.parametrize("count", [2, 3])
def test_a_job_on_workers(count: int, cluster: Any) -> None:
    """Losses and variables are those of one device, with more devices than workers too."""
    job = job_of(1)
    expected = [job(*batch) for batch in batches()], variables()
    with settings(cluster="local:2"):
        job = job_of(count)
        losses = [job(*batch) for batch in batches()]
        for one, other in zip(losses, expected[0]):
            np.testing.assert_allclose(one, other, rtol=1e-4)
        for name, array in variables().items():
            np.testing.assert_allclose(array, expected[1][name], rtol=1e-4, atol=1e-6, err_msg=name)


@pytest.mark.peer
def test_the_mirrored_view_on_workers(cluster: Any) -> None:
    """Lists with one array per device go in and come out."""
    with settings(cluster="local:2"):
        job = job_of(2, mirrored=True)
        losses = [job(np.split(x, 2), np.split(t, 2)) for x, t in batches()]
        assert [len(item) for item in losses] == [2, 2, 2]
    threads = job_of(2, mirrored=True)
    for one, (x, t) in zip(losses, batches()):
        for part, other in zip(one, threads(np.split(x, 2), np.split(t, 2))):
            np.testing.assert_allclose(part, other, rtol=1e-4)


@pytest.mark.peer
def test_variables_go_and_come(cluster: Any, tmp_path: Path) -> None:
    """What is loaded in the script goes to the workers, what they train is saved, and is what one device has."""
    with settings(cluster="local:2"):
        job = job_of(2)
        first, second, third = batches()
        job(*first)
        flow.checkpoint.save(str(tmp_path / "saved"))
        random.seed(9)
        expected = job(*second)
        job(*third)
        flow.load_variables(flow.checkpoint.get(str(tmp_path / "saved")))
        random.seed(9)
        assert job(*second).tobytes() == expected.tobytes()


@pytest.mark.peer
def test_an_error_on_a_worker_is_the_jobs(cluster: Any) -> None:
    """It has its type, and the job can run again."""
    with settings(cluster="local:2"):
        flow.config.cpu_device_num(2)

        @flow.global_function()
        def job(x: tp.Numpy.Placeholder((4, 3)), at: tp.Numpy.Placeholder((4,), dtype=flow.int32)) -> tp.Numpy:
            return flow.gather(x, at) * 2.0

        good = np.array([0, 1, 2, 3], np.int32)
        assert (job(np.ones((4, 3), F), good) == 2).all()
        with pytest.raises(Exception, match="99"):
            job(np.ones((4, 3), F), np.array([0, 1, 2, 99], np.int32))
        assert (job(np.ones((4, 3), F), good) == 2).all()


@pytest.mark.peer
@pytest.mark.parametrize(
    ("text", "said"),
    [("here", "is not a cluster"), ("local:0", "at least one worker"), ("tcp://127.0.0.1:1", "no scheduler answers")],
)
def test_clusters_that_are_not_there(text: str, said: str) -> None:
    """Each says what is wrong within seconds."""
    pytest.importorskip("distributed", reason="Dask is not installed: a cluster cannot be asked for")
    started = time.monotonic()
    with pytest.raises(UsageError, match=said):
        connection.Cluster(text)
    assert time.monotonic() - started < 20


@pytest.mark.peer
def test_an_address_that_says_nothing() -> None:
    """A server that accepts and is silent is given up within seconds."""
    pytest.importorskip("distributed", reason="Dask is not installed: a cluster cannot be asked for")
    with socket.create_server(("127.0.0.1", 0)) as server:
        started = time.monotonic()
        with pytest.raises(UsageError, match="no scheduler answers"):
            connection.Cluster(f"tcp://127.0.0.1:{server.getsockname()[1]}")
        assert time.monotonic() - started < 20


@pytest.mark.peer
def test_other_versions_are_refused(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worker, and both versions, are named."""
    monkeypatch.setattr(connection.worker, "facts", lambda: {"opkit": "0.0.1"})
    with pytest.raises(UsageError, match=r"worker tcp://\S+ has other versions: opkit \S+ there, 0.0.1 here"):
        cluster._check_versions()


@pytest.mark.peer
def test_a_worker_that_is_lost_when_it_is_greeted(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that ends during the comparison of versions is a lost worker."""
    def run(function: Any) -> Any:
        raise ConnectionResetError("stream is closed")

    monkeypatch.setattr(cluster.client, "run", run)
    with pytest.raises(connection.LostWorkerError, match=r"a worker of local:2 is lost: .* \(stream is closed\)"):
        cluster._check_versions()


def test_without_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says what to install."""
    import sys

    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(OpkitError, match=r"a cluster needs Dask[\s\S]*pip install 'opkit\[cluster\]'"):
        connection.Cluster("local:2")


@pytest.mark.peer
def test_a_lost_worker_ends_the_job() -> None:
    """The message names worker, op and the last complete step; nothing goes on."""
    pytest.importorskip("distributed", reason="Dask is not installed: a cluster cannot be started")
    try:
        with settings(cluster="local:02"):  # workers of its own
            job = job_of(2)
            job(*batches()[0])
            found = connection.connect("local:02")
            os.kill(found._processes[1].pid, signal.SIGKILL)
            started = time.monotonic()
            with pytest.raises(connection.LostWorkerError, match=r"worker tcp://\S+ of local:02 is lost: 1 step complete") as lost:
                job(*batches()[1])
            assert "op " in str(lost.value)
            assert time.monotonic() - started < 25
            with pytest.raises(connection.LostWorkerError):
                variables()
    finally:
        connection._open.pop("local:02").close()
