"""Test helpers of OneFlow (``flow.unittest``): the base class and the "needs n nodes, d devices" decorators."""

from __future__ import annotations

import os
import unittest as _unittest
from collections.abc import Callable
from typing import Any

from opkit.errors import UsageError
from opkit.oneflow.job import enable_eager_execution
from opkit.oneflow.session import clear_default_session
from opkit.shim.missing import guard

__all__ = [
    "TestCase",
    "env",
    "num_nodes_required",
    "skip_unless_1n1d",
    "skip_unless_1n2d",
    "skip_unless_1n4d",
    "skip_unless_2n1d",
    "skip_unless_2n2d",
    "skip_unless_2n4d",
]


class TestCase(_unittest.TestCase):
    """``unittest.TestCase`` whose ``setUp`` clears the session and ends eager execution."""

    def setUp(self) -> None:
        """Forget the jobs and variables of earlier tests."""
        clear_default_session()
        enable_eager_execution(env.eager_execution_enabled())


class env:
    """What OneFlow's tests ask about the machine: one node and one device, unless the environment says otherwise.

    ``ONEFLOW_TEST_DEVICE_NUM`` is the number of devices (they are threads here: ``docs/devices.md``), and
    ``ONEFLOW_TEST_ENABLE_EAGER=1`` runs jobs eagerly, as in v0.4.
    """

    @staticmethod
    def eager_execution_enabled() -> bool:
        """Whether jobs run eagerly by default."""
        return os.environ.get("ONEFLOW_TEST_ENABLE_EAGER") == "1"

    @staticmethod
    def typing_check_enabled() -> bool:
        """Whether annotations of jobs are checked: always."""
        return True

    @staticmethod
    def node_size() -> int:
        """Number of machines."""
        return 1

    @staticmethod
    def device_num() -> int:
        """Number of devices."""
        given = os.environ.get("ONEFLOW_TEST_DEVICE_NUM", "1")
        if not given.isdigit() or given == "0":
            raise UsageError(f"ONEFLOW_TEST_DEVICE_NUM is a number of devices, got {given!r}")
        return int(given)

    @staticmethod
    def has_node_list() -> bool:
        """Whether several machines are configured."""
        return False

    @staticmethod
    def has_world_size() -> bool:
        """Whether several processes are configured."""
        return False


def _skip_unless(nodes: int, devices: int) -> Callable[[], Callable[[Any], Any]]:
    def decorator() -> Callable[[Any], Any]:
        there = env.device_num()
        if (nodes, devices) == (1, there):
            return lambda item: item
        return _unittest.skip(
            f"needs {nodes} node(s) with {devices} device(s), and there is 1 with {there}; "
            "ONEFLOW_TEST_DEVICE_NUM says how many devices there are"
        )

    decorator.__doc__ = f"Run the test only where {nodes} node(s) with {devices} device(s) each are there."
    return decorator


skip_unless_1n1d = _skip_unless(1, 1)
skip_unless_1n2d = _skip_unless(1, 2)
skip_unless_1n4d = _skip_unless(1, 4)
skip_unless_2n1d = _skip_unless(2, 1)
skip_unless_2n2d = _skip_unless(2, 2)
skip_unless_2n4d = _skip_unless(2, 4)


def num_nodes_required(num_nodes: int) -> Callable[[Any], Any]:
    """Run the test only where that many nodes are there."""
    if num_nodes == env.node_size():
        return lambda item: item
    return _unittest.skip(f"needs {num_nodes} nodes; opkit has one")


__getattr__ = guard("flow.unittest", __all__)
