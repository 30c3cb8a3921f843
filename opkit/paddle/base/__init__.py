"""``paddle.base``: the older spelling of graphs (2.5 and 2.6), as Paddle's own tests use it."""

from opkit.ir import Program
from opkit.paddle.base import (
    backward,
    compiler,
    core,
    data_feeder,
    dygraph,
    executor,
    framework,
    initializer,
    io,
    param_attr,
    reader,
    unique_name,
)
from opkit.paddle.base.core import LoDTensor
from opkit.paddle.framework.flags import get_flags, set_flags
from opkit.paddle.framework.kinds import Variable
from opkit.paddle.framework.parameter import ParamAttr
from opkit.paddle.framework.place import CPUPlace, CUDAPinnedPlace, CUDAPlace, is_compiled_with_cuda
from opkit.paddle.static.executor import BuildStrategy, CompiledProgram, DataFeeder, ExecutionStrategy, Executor
from opkit.paddle.static.program import cpu_places, cuda_places, device_guard, gradients, name_scope
from opkit.shim.missing import guard
from opkit.static import (
    Scope,
    append_backward,
    default_main_program,
    default_startup_program,
    global_scope,
    program_guard,
    scope_guard,
)

in_dygraph_mode = framework.in_dygraph_mode

__all__ = [
    "BuildStrategy",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CompiledProgram",
    "DataFeeder",
    "ExecutionStrategy",
    "Executor",
    "LoDTensor",
    "ParamAttr",
    "Program",
    "Scope",
    "Variable",
    "append_backward",
    "backward",
    "compiler",
    "core",
    "cpu_places",
    "cuda_places",
    "data_feeder",
    "default_main_program",
    "default_startup_program",
    "device_guard",
    "dygraph",
    "executor",
    "framework",
    "get_flags",
    "global_scope",
    "gradients",
    "in_dygraph_mode",
    "initializer",
    "io",
    "is_compiled_with_cuda",
    "name_scope",
    "param_attr",
    "program_guard",
    "reader",
    "scope_guard",
    "set_flags",
    "unique_name",
]

__getattr__ = guard(globals())
