"""The representation that every row above shares: dtypes, tensor descriptions, graphs."""

from opkit.ir.desc import TensorDesc
from opkit.ir.dtype import DTYPES, INFERENCE_ONLY, canonical_dtype, is_floating, is_integer, to_numpy

__all__ = ["DTYPES", "INFERENCE_ONLY", "TensorDesc", "canonical_dtype", "is_floating", "is_integer", "to_numpy"]
