"""The representation that every row above shares: dtypes, tensor descriptions, graphs."""

from opkit.ir.desc import Shape, TensorDesc
from opkit.ir.dialect import STRICT, Dialect, Words, adopt, current_dialect, default_dialect, speaking
from opkit.ir.dtype import DTYPES, INFERENCE_ONLY, canonical_dtype, is_floating, is_integer, to_numpy
from opkit.ir.graph import (
    Block,
    ForInference,
    Operation,
    Program,
    Rewrite,
    Value,
    Variable,
    VariableNotFoundError,
    describe_operation,
    program_text,
)

__all__ = [
    "DTYPES",
    "INFERENCE_ONLY",
    "STRICT",
    "Block",
    "Dialect",
    "ForInference",
    "Operation",
    "Program",
    "Rewrite",
    "Shape",
    "TensorDesc",
    "Value",
    "Variable",
    "VariableNotFoundError",
    "Words",
    "adopt",
    "canonical_dtype",
    "current_dialect",
    "default_dialect",
    "describe_operation",
    "is_floating",
    "is_integer",
    "program_text",
    "speaking",
    "to_numpy",
]
