"""The spec compiler: C++ op definitions become Python functions and findings."""

from opkit.spec.compiler import CompileResult, compile_spec
from opkit.spec.outline import Registration, Setter, outline
from opkit.spec.registry.built_types import BuiltTypes
from opkit.spec.registry.compiled_grad import BackwardOp, CompiledGrad, GradGraph
from opkit.spec.registry.compiled_op import CompiledOp, SbpClaim
from opkit.spec.registry.schema import ArgSpec, AttrSpec
from opkit.spec.runtime.objects import Blob, forward_blob

__all__ = [
    "ArgSpec",
    "AttrSpec",
    "BackwardOp",
    "Blob",
    "BuiltTypes",
    "CompileResult",
    "CompiledGrad",
    "CompiledOp",
    "GradGraph",
    "Registration",
    "SbpClaim",
    "Setter",
    "compile_spec",
    "forward_blob",
    "outline",
]
