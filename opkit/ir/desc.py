"""TensorDesc: what is known of a tensor without its data.

The only description of a tensor that infer functions, ops and graphs exchange.
"""

from __future__ import annotations

from typing import TypeAlias

from opkit.ir.dtype import canonical_dtype
from opkit.record import record

#: The sizes of a tensor along its axes; -1 means a size known only at run time (static mode).
Shape: TypeAlias = "tuple[int, ...]"


@record
class TensorDesc:
    """Shape and dtype of a tensor.

    Args:
        shape: one int per axis; -1 means a size known only at run time (static mode).
        dtype: a numpy dtype name, "tensor_buffer" or "of_record"; anything that
            ``canonical_dtype`` reads is accepted.
        is_dynamic: whether sizes may vary within the shape.

    Example:
        >>> TensorDesc((2, 3), "float32")
        TensorDesc(shape=(2, 3), dtype='float32', is_dynamic=False)
    """

    shape: Shape
    dtype: str
    is_dynamic: bool = False

    def __post_init__(self) -> None:
        if type(self.shape) is not tuple:
            object.__setattr__(self, "shape", tuple(self.shape))
        for size in self.shape:
            if type(size) is not int:
                object.__setattr__(self, "shape", tuple(int(item) for item in self.shape))
                break
        object.__setattr__(self, "dtype", canonical_dtype(self.dtype))

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def is_static(self) -> bool:
        """Whether every size is known."""
        return -1 not in self.shape

    def __str__(self) -> str:
        sizes = ", ".join("?" if size == -1 else str(size) for size in self.shape)
        return f"{self.dtype}[{sizes}]"
