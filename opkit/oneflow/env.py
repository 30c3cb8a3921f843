"""The cluster's description (``flow.env``): how many machines there are; ports and logs have no effect."""

from __future__ import annotations

from typing import Any

from opkit.oneflow.session import set_machines
from opkit.shim.missing import guard

__all__ = ["init", "machine"]

_WITHOUT_EFFECT = (
    "ctrl_port",
    "data_port",
    "grpc_use_no_signal",
    "init_bootstrap_confs",
    "log_dir",
    "logbuflevel",
    "logtostderr",
)


def init() -> bool:
    """Do nothing: the environment is always ready."""
    return True


def machine(*val: Any) -> None:
    """Name the machines; with ``opkit run --cluster`` each is one or more of its workers, in their order.

    Addresses are not looked at: which machines there are is the cluster's to say.

    Raises:
        UnsupportedError: several are named, and there is no cluster.
    """
    machines = val[0] if len(val) == 1 and isinstance(val[0], (list, tuple)) else val
    set_machines("flow.env.machine", len(machines))


_missing = guard("flow.env", [*_WITHOUT_EFFECT, *__all__])


def __getattr__(name: str) -> Any:
    if name in _WITHOUT_EFFECT:
        return lambda *args, **kwargs: None
    return _missing(name)
