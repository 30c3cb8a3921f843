"""The cluster's description (``flow.env``): one process on one machine, so there is nothing to set up."""

from __future__ import annotations

from typing import Any

from opkit.errors import UnsupportedError
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
    """Accept one machine.

    Raises:
        UnsupportedError: several machines are named.
    """
    machines = val[0] if len(val) == 1 and isinstance(val[0], (list, tuple)) else val
    if len(machines) > 1:
        raise UnsupportedError(f"flow.env.machine: opkit runs on one machine, got {len(machines)}")


_missing = guard("flow.env", [*_WITHOUT_EFFECT, *__all__])


def __getattr__(name: str) -> Any:
    if name in _WITHOUT_EFFECT:
        return lambda *args, **kwargs: None
    return _missing(name)
