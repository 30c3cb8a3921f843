"""``paddle.base.framework``: programs, Variables, and which mode is on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opkit.ir import Block, Program
from opkit.ir import Operation as Operator
from opkit.ops.core.mode import local
from opkit.ops.core.types import Function
from opkit.paddle.base.wrapped_decorator import wrap_decorator
from opkit.paddle.framework.flags import get_flags, set_flags
from opkit.paddle.framework.kinds import Parameter, Variable
from opkit.paddle.framework.parameter import EagerParamBase
from opkit.paddle.framework.place import expected_place as _current_expected_place
from opkit.paddle.framework.static_mode import in_pir_mode, use_pir_api
from opkit.paddle.framework.tracer import dygraph_tracer as _dygraph_tracer
from opkit.paddle.semantics.dtypes import dtype_object as convert_np_dtype_to_dtype_
from opkit.paddle.static.program import cpu_places, cuda_places, device_guard, name_scope
from opkit.shim.missing import guard
from opkit.static import default_main_program, default_startup_program, program_guard

__all__ = [
    "_current_expected_place",
    "_dygraph_tracer",
    "Block",
    "EagerParamBase",
    "Operator",
    "Parameter",
    "Program",
    "Variable",
    "convert_np_dtype_to_dtype_",
    "cpu_places",
    "cuda_places",
    "default_main_program",
    "default_startup_program",
    "device_guard",
    "dygraph_not_support",
    "dygraph_only",
    "get_flags",
    "in_dygraph_mode",
    "in_dynamic_mode",
    "in_dynamic_or_pir_mode",
    "in_pir_mode",
    "name_scope",
    "non_static_only",
    "program_guard",
    "set_flags",
    "static_only",
    "use_pir_api",
]


def in_dygraph_mode() -> bool:
    """Return whether ops run at once."""
    return not local.mode.is_static


in_dynamic_mode = in_dynamic_or_pir_mode = in_dygraph_mode


def _only(holds: Callable[[], bool], where: str, turn: str) -> Any:
    """Return a decorator of functions that one mode has."""

    def decorate(function: Function) -> Function:
        def call(*args: Any, **kwargs: Any) -> Any:
            if not holds():
                raise AssertionError(f"{function.__name__}() is there in {where} only; call paddle.{turn}() before")
            return function(*args, **kwargs)

        return call

    return wrap_decorator(decorate)


dygraph_only = non_static_only = _only(in_dygraph_mode, "dynamic mode", "disable_static")
static_only = dygraph_not_support = _only(lambda: local.mode.is_static, "graphs", "enable_static")


__getattr__ = guard(globals())
