"""``Fleet``: what a script asks about the workers and hands over to be distributed; with one worker it gets it back.

``UtilBase``: small exchanges of arrays and files between workers, of which there is one.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
from numpy import ndarray

from opkit.errors import UnsupportedError, UsageError
from opkit.paddle.distributed.environment import init_parallel_env
from opkit.paddle.distributed.fleet.strategy import DistributedStrategy, HybridCommunicateGroup
from opkit.paddle.nn.layer.layers import Layer
from opkit.shim.missing import guard

__all__ = [
    "Fleet",
    "the_fleet",
]


class UtilBase:
    """``fleet.util``."""

    def all_reduce(self, input: Any, mode: str = "sum", comm_world: str = "worker") -> ndarray:
        """Return the sum, minimum or maximum of all workers' arrays: this one.

        Raises:
            UsageError: ``mode`` is none of these.
        """
        if mode not in ("sum", "min", "max"):
            raise UsageError(f"fleet.util.all_reduce: mode is 'sum', 'min' or 'max', got {mode!r}")
        return np.array(input)

    def all_gather(self, input: Any, comm_world: str = "worker") -> list[Any]:
        """Return all workers' values: a list of this one."""
        return [input]

    def barrier(self, comm_world: str = "worker") -> None:
        """Return at once: there is no other worker to arrive."""

    def get_file_shard(self, files: list[str]) -> list[str]:
        """Return this worker's files: all.

        Raises:
            TypeError: ``files`` is not a list.
        """
        if not isinstance(files, list):
            raise TypeError(f"get_file_shard takes a list of file names, got {type(files).__name__}")
        return list(files)


_ENDPOINT = "127.0.0.1:6170"


class Fleet:
    """One worker, no server."""

    def __init__(self) -> None:
        self.util = UtilBase()
        self._strategy: DistributedStrategy | None = None
        self._optimizer: Any = None
        self._groups = HybridCommunicateGroup()

    def init(
        self, role_maker: Any = None, is_collective: bool = False, strategy: Any = None, log_level: Any = "INFO"
    ) -> Fleet:
        """Begin.

        Args:
            role_maker: accepted; the role is that of the one worker.
            is_collective: accepted, without effect.
            strategy: may not divide the network over more than one process.
            log_level: accepted, without effect.

        Raises:
            UnsupportedError: the environment or the strategy asks for other processes.
        """
        init_parallel_env()
        self._strategy = DistributedStrategy() if strategy is None else strategy
        if isinstance(self._strategy, DistributedStrategy):
            self._strategy.check()
        return self

    # ---- who there is ------------------------------------------------------------------------------------------------
    def is_first_worker(self) -> bool:
        """Return whether this is the first worker: yes."""
        return True

    def is_worker(self) -> bool:
        """Return whether this process trains: yes."""
        return True

    def is_server(self) -> bool:
        """Return whether this process serves parameters: no."""
        return False

    def worker_index(self) -> int:
        """Return this worker's number: 0."""
        return 0

    rank = local_rank = worker_index

    def worker_num(self) -> int:
        """Return the number of workers: 1."""
        return 1

    nranks = world_size = node_num = worker_num

    def server_num(self) -> int:
        """Return the number of servers: 0."""
        return 0

    def worker_endpoints(self, to_string: bool = False) -> list[str] | str:
        """Return the workers' addresses."""
        return _ENDPOINT if to_string else [_ENDPOINT]

    def get_hybrid_communicate_group(self) -> HybridCommunicateGroup:
        """Return the groups of all kinds of parallelism: this process alone."""
        return self._groups

    # ---- what is distributed -----------------------------------------------------------------------------------------
    def distributed_model(self, model: Any) -> Any:
        """Return the network as it is.

        Raises:
            TypeError: it is not a Layer.
        """
        if not isinstance(model, Layer):
            raise TypeError(f"distributed_model takes a Layer, got {type(model).__name__}")
        return model

    def distributed_optimizer(self, optimizer: Any, strategy: Any = None) -> Any:
        """Return the optimizer as it is.

        Raises:
            UnsupportedError: the strategy asks for other processes.
        """
        if isinstance(strategy, DistributedStrategy):
            strategy.check()
        self._optimizer = optimizer
        return optimizer

    def distributed_scaler(self, scaler: Any) -> Any:
        """Return the scaler of losses as it is."""
        return scaler

    def minimize(
        self, loss: Any, startup_program: Any = None, parameter_list: Any = None, no_grad_set: Any = None
    ) -> Any:
        """Let the optimizer that ``distributed_optimizer`` was given minimise a loss."""
        if self._optimizer is None:
            raise UnsupportedError(
                "fleet.minimize: no optimizer was given", help="call fleet.distributed_optimizer first"
            )
        return self._optimizer.minimize(loss, startup_program, parameter_list, no_grad_set)

    # ---- other processes ---------------------------------------------------------------------------------------------
    def barrier_worker(self) -> None:
        """Return at once: there is no other worker to arrive."""

    def init_worker(self, scopes: Any = None) -> None:
        """Do nothing: there is no server to connect to."""

    def stop_worker(self) -> None:
        """Do nothing: there is no server to take leave of."""

    def init_server(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse to serve parameters.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            "opkit runs one worker and no parameter server", help="is_server() is False: call this behind it only"
        )

    run_server = init_server


the_fleet = Fleet()


__getattr__ = guard(globals())
