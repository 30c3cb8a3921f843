"""The spec compiler: C++ op definitions become Python functions and findings."""

from opkit.spec.compiler import CompileResult, compile_spec
from opkit.spec.registry.built_types import BuiltTypes
from opkit.spec.registry.compiled_grad import BackwardOp, CompiledGrad, GradGraph
from opkit.spec.registry.compiled_op import CompiledOp
from opkit.spec.registry.schema import ArgSpec, AttrSpec

__all__ = [
    "ArgSpec",
    "AttrSpec",
    "BackwardOp",
    "BuiltTypes",
    "CompileResult",
    "CompiledGrad",
    "CompiledOp",
    "GradGraph",
    "compile_spec",
]
