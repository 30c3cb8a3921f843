"""``paddle.static``: graphs that are built first and run by an Executor."""

from opkit.ir import Operation as Operator
from opkit.ir import Program
from opkit.paddle.framework.kinds import Parameter, Variable
from opkit.paddle.framework.parameter import ParamAttr, create_parameter
from opkit.paddle.semantics.names import install_names
from opkit.paddle.static import nn
from opkit.paddle.static.executor import BuildStrategy, CompiledProgram, ExecutionStrategy, Executor
from opkit.paddle.static.graph import install_graph
from opkit.paddle.static.hooks import install_hooks
from opkit.paddle.static.input_spec import InputSpec
from opkit.paddle.static.io import (
    load,
    load_inference_model,
    load_program_state,
    save,
    save_inference_model,
    set_program_state,
)
from opkit.paddle.static.metrics import accuracy, auc
from opkit.paddle.static.program import (
    Print,
    cpu_places,
    create_global_var,
    cuda_places,
    data,
    device_guard,
    gradients,
    name_scope,
    py_func,
    setitem,
)
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
from opkit.static import enable_static as enable_static  # paddle's own: it needs what is installed here

install_graph()
install_hooks()
install_names()

__all__ = [
    "BuildStrategy",
    "CompiledProgram",
    "ExecutionStrategy",
    "Executor",
    "InputSpec",
    "Operator",
    "ParamAttr",
    "Parameter",
    "Print",
    "Program",
    "Scope",
    "Variable",
    "accuracy",
    "auc",
    "append_backward",
    "cpu_places",
    "create_global_var",
    "create_parameter",
    "cuda_places",
    "data",
    "default_main_program",
    "default_startup_program",
    "device_guard",
    "global_scope",
    "gradients",
    "load",
    "load_inference_model",
    "load_program_state",
    "name_scope",
    "nn",
    "program_guard",
    "py_func",
    "save",
    "save_inference_model",
    "scope_guard",
    "set_program_state",
    "setitem",
]

__getattr__ = guard(globals())
