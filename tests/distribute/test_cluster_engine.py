"""The engine of a cluster without one: workers are copies of the worker's module in this process, tasks run at once."""

from __future__ import annotations

import importlib.util
import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import opkit.oneflow as flow
import opkit.oneflow.typing as tp
from opkit.distribute.cluster import connection, worker
from opkit.oneflow.session import clear_default_session
from opkit.ops.basis import random
from opkit.settings import settings

pytest.importorskip("cloudpickle", reason="Dask is not installed: programs cannot be sent")
pytestmark = pytest.mark.peer

F = np.float32
NAMES = itertools.count()


class Here:
    """A cluster whose workers are modules of this process."""

    def __init__(self, count: int) -> None:
        self.workers = [f"worker {place}" for place in range(count)]
        self.given: Counter[str] = Counter()
        self._modules = {}
        assert worker.__file__ is not None
        for address in self.workers:
            spec = importlib.util.spec_from_file_location(f"opkit_worker_{next(NAMES)}", worker.__file__)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[spec.name] = module
            spec.loader.exec_module(module)
            self._modules[address] = module

    def submit(self, address: str, function: Callable[..., Any], *args: Any) -> Any:
        self.given[function.__name__] += 1
        return getattr(self._modules[address], function.__name__)(*args)

    def brought(self, address: str, item: Any, doing: Callable[[str], str]) -> Any:
        return item

    def gather(self, futures: Sequence[Any], doing: Callable[[str], str]) -> list[Any]:
        return list(futures)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    clear_default_session()
    yield
    clear_default_session()


def trained(devices: int, monkeypatch: pytest.MonkeyPatch | None = None) -> tuple[list[Any], dict[str, Any], Counter[str]]:
    """Return the losses and variables of three steps, and the tasks of the last."""
    clear_default_session()
    random.seed(4)
    here = Here(max(devices, 1))
    if monkeypatch is not None:
        monkeypatch.setattr(connection, "connect", lambda text: here)
    with settings(cluster="" if monkeypatch is None else "here"):
        flow.config.cpu_device_num(devices)

        @flow.global_function(type="train")
        def job(
            x: tp.Numpy.Placeholder((64, 6)), t: tp.Numpy.Placeholder((64,), dtype=flow.int32)  # type: ignore[valid-type]
        ) -> tp.Numpy:
            init = flow.random_normal_initializer(stddev=0.4)
            h = flow.layers.dense(x, 8, activation=flow.nn.relu, kernel_initializer=init, name="a")
            split = flow.distribute.split(0)
            y = flow.layers.dense(h, 5, kernel_initializer=init, name="b", model_distribute=split)
            loss = flow.nn.sparse_softmax_cross_entropy_with_logits(t, y)
            flow.optimizer.SGD(flow.optimizer.PiecewiseConstantScheduler([], [0.1]), momentum=0.9).minimize(loss)
            return loss

        rng = np.random.default_rng(0)
        losses = []
        for _ in range(3):
            here.given.clear()
            losses.append(job(rng.normal(size=(64, 6)).astype(F), rng.integers(0, 5, 64).astype(np.int32)))
        tasks = Counter(here.given)
        return losses, {name: item.numpy() for name, item in flow.get_all_variables().items()}, tasks


@pytest.mark.parametrize("devices", [2, 3, 5])
def test_a_job_on_workers_is_that_of_one_device(devices: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses and variables, with a variable that is split unevenly."""
    losses, variables, _ = trained(1)
    found, others, _ = trained(devices, monkeypatch)
    for one, other in zip(losses, found, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-4)
    for name, array in variables.items():
        np.testing.assert_allclose(others[name], array, rtol=1e-4, atol=1e-6, err_msg=name)


def test_what_all_devices_get_is_one_task_of_each_that_has_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """So the number of tasks that add gradients up grows with the devices, and not with their square."""
    counts = [trained(devices, monkeypatch)[2]["pack_shared"] for devices in (2, 4, 5)]
    assert counts[0] > 0
    assert counts == [counts[0] * devices // 2 for devices in (2, 4, 5)]
