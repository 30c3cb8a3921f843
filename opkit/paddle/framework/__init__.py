"""``paddle.framework``: modes, devices, dtypes, parameters, files."""

from opkit.paddle.framework.flags import get_flags, set_flags
from opkit.paddle.framework.kinds import Parameter
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.framework.place import CPUPlace, CUDAPinnedPlace, CUDAPlace
from opkit.paddle.framework.place import expected_place as _current_expected_place
from opkit.paddle.framework.static_mode import (
    get_default_dtype,
    in_dynamic_mode,
    in_pir_mode,
    set_default_dtype,
    use_pir_api,
)
from opkit.paddle.framework.tracer import dygraph_tracer as _dygraph_tracer
from opkit.shim.missing import guard

__all__ = [
    "_current_expected_place",
    "_dygraph_tracer",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "ParamAttr",
    "Parameter",
    "get_default_dtype",
    "get_flags",
    "in_dynamic_mode",
    "in_pir_mode",
    "set_default_dtype",
    "set_flags",
    "use_pir_api",
]

__getattr__ = guard(globals())
