"""Flags: ``set_flags`` and ``get_flags``. FLAGS_check_nan_inf looks at every op and every gradient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opkit.errors import UsageError, unknown
from opkit.ops.core.finite import FiniteCheck

#: Flags of Paddle 2.6 that scripts set; what is not checked here is accepted and changes nothing.
_KNOWN: dict[str, Any] = {
    "FLAGS_check_nan_inf": False,
    "FLAGS_check_nan_inf_level": 0,
    "FLAGS_allocator_strategy": "auto_growth",
    "FLAGS_benchmark": False,
    "FLAGS_call_stack_level": 1,
    "FLAGS_cudnn_deterministic": False,
    "FLAGS_cudnn_exhaustive_search": False,
    "FLAGS_enable_pir_api": False,
    "FLAGS_eager_delete_tensor_gb": 0.0,
    "FLAGS_fraction_of_gpu_memory_to_use": 0.92,
    "FLAGS_use_mkldnn": False,
    "FLAGS_use_stride_kernel": True,
}

_NAN_CHECK = FiniteCheck(blames_origin=False, help="FLAGS_check_nan_inf is on and stops at the first such result")


def set_flags(flags: Mapping[str, Any]) -> None:
    """Set flags by name.

    Args:
        flags: ``{"FLAGS_check_nan_inf": 1}`` stops at the first op whose result holds NaN or infinity, in dynamic mode
            and in runs of graphs, and at the first such gradient of a backward.

    Raises:
        TypeError: it is not a dict.
        UsageError: a flag is not known; the nearest is named.
    """
    if not isinstance(flags, Mapping):
        raise TypeError(f"set_flags takes a dict, got {type(flags).__name__}")
    for name, value in flags.items():
        if name not in _KNOWN:
            raise unknown("set_flags: opkit knows no flag", name, _KNOWN, limit=3).error(UsageError)
        _KNOWN[name] = value
        if name == "FLAGS_check_nan_inf":
            _NAN_CHECK.switch(bool(int(value)))


def get_flags(flags: Any) -> dict[str, Any]:
    """Return flags by name.

    Args:
        flags: one name, or a list of names.

    Raises:
        UsageError: a flag is not known.
    """
    names = [flags] if isinstance(flags, str) else list(flags)
    for name in names:
        if name not in _KNOWN:
            raise UsageError(f"get_flags: opkit knows no flag {name!r}")
    return {name: _KNOWN[name] for name in names}
