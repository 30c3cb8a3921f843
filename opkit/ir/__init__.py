"""The representation that every row above shares: dtypes, tensor descriptions, graphs."""

from opkit.ir.block import Block, VariableNotFoundError
from opkit.ir.desc import TensorDesc
from opkit.ir.dtype import DTYPES, INFERENCE_ONLY, canonical_dtype, is_floating, is_integer, to_numpy
from opkit.ir.operation import Operation, describe_operation
from opkit.ir.printer import program_text
from opkit.ir.program import Program
from opkit.ir.rewrite import ForInference, Rewrite
from opkit.ir.value import Value, Variable

__all__ = [
    "DTYPES",
    "INFERENCE_ONLY",
    "Block",
    "ForInference",
    "Operation",
    "Program",
    "Rewrite",
    "TensorDesc",
    "Value",
    "Variable",
    "VariableNotFoundError",
    "canonical_dtype",
    "describe_operation",
    "is_floating",
    "is_integer",
    "program_text",
    "to_numpy",
]
