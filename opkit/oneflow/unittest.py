"""Test helpers of OneFlow (``flow.unittest``): the base class and the "needs n nodes, d devices" decorators."""

from __future__ import annotations

import unittest as _unittest
from collections.abc import Callable
from typing import Any

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
    """What OneFlow's tests ask about the machine: one node, one device."""

    @staticmethod
    def eager_execution_enabled() -> bool:
        """Whether jobs run eagerly by default."""
        return False

    @staticmethod
    def node_size() -> int:
        """Number of machines."""
        return 1

    @staticmethod
    def device_num() -> int:
        """Number of devices."""
        return 1

    @staticmethod
    def has_node_list() -> bool:
        """Whether several machines are configured."""
        return False


def _skip_unless(nodes: int, devices: int) -> Callable[[], Callable[[Any], Any]]:
    def decorator() -> Callable[[Any], Any]:
        if (nodes, devices) == (1, 1):
            return lambda item: item
        return _unittest.skip(f"needs {nodes} node(s) with {devices} device(s); opkit has one of each")

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
    return _skip_unless(num_nodes, 1)()


__getattr__ = guard("flow.unittest", __all__)
