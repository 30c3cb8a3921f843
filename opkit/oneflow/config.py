"""Session settings (``flow.config``): how many devices there are; most others have no effect on CPUs."""

from __future__ import annotations

import os
from typing import Any

from opkit.errors import MissingNameError, ProjectError, UnsupportedError, UsageError, unknown
from opkit.oneflow.session import session, set_machines
from opkit.ops.core.finite import FiniteCheck
from opkit.settings import current_settings, note
from opkit.shim.missing import guard

__all__ = [
    "collective_boxing",
    "cpu_device_num",
    "enable_debug_mode",
    "gpu_device_num",
    "load_library",
    "load_library_now",
    "machine_num",
]

_values: dict[str, Any] = {}
#: What ``enable_debug_mode`` switches.
DEBUG_CHECK = FiniteCheck(blames_origin=True)

#: Settings whose effect does not exist on one CPU; they are remembered and change nothing.
_WITHOUT_EFFECT = (
    "collect_act_event",
    "comm_net_worker_num",
    "compute_thread_pool_size",
    "disable_group_boxing_by_dst_parallel",
    "enable_legacy_model_io",
    "enable_mem_chain_merge",
    "enable_model_io_v2",
    "enable_numa_aware_cuda_malloc_host",
    "enable_tensor_float_32_compute",
    "legacy_model_io_enabled",
    "max_mdsave_worker_num",
    "nccl_use_compute_stream",
    "persistence_buf_byte",
    "rdma_mem_block_mbyte",
    "rdma_recv_msg_buf_mbyte",
    "reserved_device_mem_mbyte",
    "reserved_host_mem_mbyte",
    "save_downloaded_file_to_local_fs",
    "thread_enable_local_message_queue",
    "use_rdma",
)


def cpu_device_num(val: int) -> None:
    """Set how many CPU devices each machine has; a job runs on all of them (``docs/devices.md``).

    Raises:
        UsageError: it is not a positive number.
    """
    session().resources.cpu = _count("cpu_device_num", val, 1)


def gpu_device_num(val: int) -> None:
    """Accept a GPU count under ``opkit run --gpu-as-cpu``, else only 0.

    Raises:
        UnsupportedError: a GPU is asked for.
        UsageError: it is not a number of devices.
    """
    count = _count("gpu_device_num", val, 0)
    if val and not current_settings().gpu_as_cpu:
        raise UnsupportedError(
            f"flow.config.gpu_device_num({val}): opkit's runtime is CPU only",
            help="run the script with 'opkit run --gpu-as-cpu JOB.py' to run its GPU parts on the CPU",
        )
    session().resources.gpu = count


def _count(name: str, given: Any, least: int) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or given < least:
        raise UsageError(f"flow.config.{name} takes a number of devices, at least {least}, got {given!r}")
    return given


def machine_num(val: int) -> None:
    """Set the number of machines; see ``flow.env.machine``.

    Raises:
        UnsupportedError: there are several, and no cluster.
        UsageError: it is not a positive number.
    """
    set_machines("flow.config.machine_num", _count("machine_num", val, 1))


def enable_debug_mode(val: bool = True) -> None:
    """Stop at the op that first makes NaN or infinity out of finite numbers (or, with False, no longer)."""
    DEBUG_CHECK.switch(val)


def load_library(path: str) -> None:
    """Load the ops and kernels of a library: from the C++ sources beside it, which opkit compiles itself.

    The library need not be there; one that is there was compiled for OneFlow, and is not read.

    Raises:
        ProjectError: there are no sources beside it, or they do not compile.
    """
    folder = os.path.dirname(os.path.abspath(path))
    try:
        loaded = session().library.load_sources(os.path.relpath(folder))
    except ProjectError as error:
        message = f"flow.config.load_library({path!r}): opkit compiles the C++ sources beside it. {error.message}"
        raise ProjectError(message, where=error.where, help=error.help) from error
    ops = ", ".join(loaded.ops)
    note(f"flow.config.load_library({path!r}): {ops} compiled from the C++ sources in {loaded.directory.path}")


load_library_now = load_library


class _CollectiveBoxing:
    """``flow.config.collective_boxing``: how GPUs exchange what they hold; remembered without effect."""

    def __getattr__(self, name: str) -> Any:
        if name not in _OF_BOXING:
            raise unknown("flow.config.collective_boxing has no", name, _OF_BOXING).error(MissingNameError)
        return lambda *args: _values.__setitem__(name, args[0] if args else True)


_OF_BOXING = (
    "enable_fusion",
    "nccl_enable_all_to_all",
    "nccl_enable_mixed_fusion",
    "nccl_fusion_all_gather",
    "nccl_fusion_all_reduce",
    "nccl_fusion_all_reduce_use_buffer",
    "nccl_fusion_broadcast",
    "nccl_fusion_max_ops",
    "nccl_fusion_reduce",
    "nccl_fusion_reduce_scatter",
    "nccl_fusion_threshold_mb",
    "nccl_num_streams",
)
collective_boxing = _CollectiveBoxing()
_missing = guard("flow.config", [*_WITHOUT_EFFECT, *__all__])


def __getattr__(name: str) -> Any:
    if name in _WITHOUT_EFFECT:
        return lambda *args, **kwargs: _values.__setitem__(name, args[0] if args else True)
    return _missing(name)
