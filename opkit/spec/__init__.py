"""The spec compiler: C++ op definitions become Python functions and findings."""

from opkit.spec.compiler import CompileResult, compile_spec
from opkit.spec.grads import BackwardOp, CompiledGrad, GradGraph
from opkit.spec.ops import CompiledOp
from opkit.spec.schema import ArgSpec, AttrSpec

__all__ = [
    "ArgSpec",
    "AttrSpec",
    "BackwardOp",
    "CompileResult",
    "CompiledGrad",
    "CompiledOp",
    "GradGraph",
    "compile_spec",
]
