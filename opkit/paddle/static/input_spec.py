"""InputSpec: shape, dtype and name of an input that is not there yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.errors import ShapeError, UsageError
from opkit.ir import canonical_dtype
from opkit.ops.core.types import Name
from opkit.paddle.semantics.dtypes import dtype_object


class SpecTypeError(UsageError, TypeError):
    """A shape or a size of a batch is of another type (Paddle raises TypeError)."""


class InputSpec:
    """Shape, dtype and name of an input.

    Args:
        shape: sizes, None or -1 where any.
        dtype: its dtype.
        name: its name.
        stop_gradient: whether it takes no gradient.

    Raises:
        SpecTypeError: the shape is not a list or tuple.
        ShapeError: a size is not an int.

    Source: Paddle 2.6, paddle.static.InputSpec.
    """

    def __init__(
        self, shape: Sequence[Any], dtype: Any = "float32", name: Name = None, stop_gradient: bool = False
    ) -> None:
        if not isinstance(shape, (list, tuple)):
            raise SpecTypeError(f"InputSpec takes a list or tuple as shape, got {type(shape).__name__}")
        for size in shape:
            if size is not None and (not hasattr(size, "__index__") or hasattr(size, "_data")):
                raise ShapeError(f"InputSpec: a size is an int or None, got {size!r}")
        self.shape = tuple([-1 if size is None else size.__index__() for size in shape])
        self.dtype = dtype_object(canonical_dtype(dtype))
        self.name = name
        self.stop_gradient = stop_gradient

    @classmethod
    def from_tensor(cls, tensor: Any, name: Name = None) -> InputSpec:
        """Return the spec of a tensor.

        Raises:
            UsageError: it is not a Tensor or Variable.
        """
        if not hasattr(tensor, "_data"):
            raise UsageError(f"InputSpec.from_tensor takes a Tensor, got {type(tensor).__name__}")
        return cls(list(tensor.shape), tensor._data.dtype, name or tensor.name)

    @classmethod
    def from_numpy(cls, ndarray: Any, name: Name = None) -> InputSpec:
        """Return the spec of an array."""
        return cls(list(ndarray.shape), ndarray.dtype, name)

    def batch(self, batch_size: Any) -> InputSpec:
        """Put a size in front of the shape, in place; return this spec.

        Raises:
            SpecTypeError: it is not an int.
            UsageError: it is a list of several.
        """
        if isinstance(batch_size, (list, tuple)):
            if len(batch_size) != 1:
                raise UsageError(f"InputSpec.batch takes one size, got {len(batch_size)}")
            batch_size = batch_size[0]
        if not hasattr(batch_size, "__index__"):
            raise SpecTypeError(f"InputSpec.batch takes an int, got {type(batch_size).__name__}")
        self.shape = (batch_size.__index__(), *self.shape)
        return self

    def _key(self) -> tuple[Any, ...]:
        return self.shape, self.dtype, self.name, self.stop_gradient

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InputSpec) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        kind = f"dtype={self.dtype}, name={self.name}, stop_gradient={self.stop_gradient}"
        return f"InputSpec(shape={self.shape}, {kind})"
