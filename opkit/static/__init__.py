"""Static mode: building Programs, py_func, jobs, compiled plans and the Executor."""

from opkit.static.backward import append_backward, gradients
from opkit.static.builder import (
    Building,
    ForeignVariableError,
    append,
    apply,
    build_in,
    building,
    default_main_program,
    default_startup_program,
    disable_static,
    enable_static,
    in_static_mode,
    name_outputs,
    placed,
    program_guard,
    scoped,
    switch_default_programs,
)
from opkit.static.executor import Executor
from opkit.static.jobs import CompiledJob, JobTracer, differentiate, observer_op
from opkit.static.methods import install_methods
from opkit.static.names import guard_names, register_prefixes, switch_names, unique_name
from opkit.static.plan import Plan, compile_plan
from opkit.static.py_func import PyFuncDef, PyFuncGradDef, py_func
from opkit.static.scope import Scope, global_scope, scope_guard

install_methods()

__all__ = [
    "Building",
    "CompiledJob",
    "Executor",
    "ForeignVariableError",
    "JobTracer",
    "Plan",
    "PyFuncDef",
    "PyFuncGradDef",
    "Scope",
    "append",
    "append_backward",
    "apply",
    "build_in",
    "building",
    "compile_plan",
    "default_main_program",
    "default_startup_program",
    "differentiate",
    "disable_static",
    "enable_static",
    "global_scope",
    "gradients",
    "guard_names",
    "in_static_mode",
    "install_methods",
    "name_outputs",
    "observer_op",
    "placed",
    "program_guard",
    "scoped",
    "py_func",
    "register_prefixes",
    "scope_guard",
    "switch_default_programs",
    "switch_names",
    "unique_name",
]
