"""``flow.sysconfig``: what OneFlow was built with; here without GPUs and networks (v0.4 names)."""

from __future__ import annotations

from opkit.shim.missing import guard

__all__ = ["has_rpc_backend_grpc", "has_rpc_backend_local", "with_cuda", "with_xla"]


def with_cuda() -> bool:
    """Return whether there are GPUs: never."""
    return False


def with_xla() -> bool:
    """Return whether there is an XLA compiler: never."""
    return False


def has_rpc_backend_grpc() -> bool:
    """Return whether processes find each other by gRPC: never; see ``opkit run --cluster``."""
    return False


def has_rpc_backend_local() -> bool:
    """Return whether jobs run in the script's process: always."""
    return True


__getattr__ = guard("flow.sysconfig", __all__)
