"""Value and Variable: what flows through a graph, and the name under which a user knows it.

A Value is assigned once (one version of one Variable); a Variable is the handle, and means its latest version.
Operators and methods of a Variable are attached in ``opkit.static.methods``; only its data is defined here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from opkit.ir.desc import TensorDesc
from opkit.ir.dialect import Dialect
from opkit.ir.dtype import to_numpy

if TYPE_CHECKING:
    from opkit.ir.block import Block
    from opkit.ir.operation import Operation


class Value:
    """One version of a Variable: assigned once, by its producer or from outside.

    Args:
        variable: the Variable that this is a version of.
        shape: sizes, -1 where a size is known only at run time.
        dtype: numpy dtype.
        producer: the Operation that computes it; None for what is fed, held in a scope, or never written.
        index: which output of the producer it is.
    """

    __slots__ = ("dtype", "index", "producer", "shape", "variable", "version")

    def __init__(
        self,
        variable: Variable,
        shape: tuple[int, ...],
        dtype: np.dtype,
        producer: Operation | None = None,
        index: int = 0,
        version: int = 0,
    ) -> None:
        self.variable = variable
        self.shape = shape
        self.dtype = dtype
        self.producer = producer
        self.index = index
        self.version = version

    @property
    def desc(self) -> TensorDesc:
        """Shape and dtype, as infer functions take them."""
        return TensorDesc(self.shape, self.dtype.name)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def name(self) -> str:
        """The Variable's name, with the version where it is not the first."""
        return f"{self.variable.name}:{self.version}" if self.version else self.variable.name

    def __repr__(self) -> str:
        return f"Value({self.name}: {self.desc})"


class Variable:
    """A named handle in a Block; using it means its latest Value.

    Args:
        block: where it lives.
        name: unique in the block.
        desc: declared shape and dtype.
        stop_gradient: no gradient flows to it.
        persistable: its data lives in a Scope, across runs.
        is_data: it is fed.
    """

    __slots__ = ("__dict__", "__weakref__", "block", "name", "stop_gradient", "value")

    #: Set on an instance only where it differs.
    persistable: bool = False
    is_data: bool = False
    is_parameter: bool = False
    trainable: bool = False
    need_clip: bool = True
    regularizer: Any = None
    has_shape: bool = True

    def __init__(
        self,
        block: Block,
        name: str,
        desc: TensorDesc,
        *,
        stop_gradient: bool = False,
        persistable: bool = False,
        is_data: bool = False,
    ) -> None:
        self.block = block
        self.name = name
        self.stop_gradient = stop_gradient
        self.value = Value(self, desc.shape, to_numpy(desc.dtype))
        if persistable:
            self.persistable = True
        if is_data:
            self.is_data = True

    @property
    def _data(self) -> Value:
        # What op builders read shape and dtype from (a Tensor's is its array).
        return self.value

    @property
    def desc(self) -> TensorDesc:
        """Shape and dtype of the latest version."""
        return self.value.desc

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes, -1 where unknown until run time."""
        return self.value.shape

    @property
    def dialect(self) -> Dialect:
        """The rules and words of its program's framework."""
        return self.block.program.dialect

    @property
    def dtype(self) -> Any:
        """The dtype as the program's framework shows it; numpy's where there is none."""
        return self.block.program.dialect.show_dtype(self.value.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.value.shape)

    @property
    def op(self) -> Operation | None:
        """The Operation that wrote the latest version, or None."""
        return self.value.producer

    def at(self, value: Value) -> Variable:
        """Return a handle that always means one version; the same object where that is the latest one."""
        if value is self.value:
            return self
        pinned = Variable.__new__(type(self))
        pinned.__dict__.update(self.__dict__)
        pinned.block, pinned.name, pinned.stop_gradient = self.block, self.name, self.stop_gradient
        pinned.value = value
        return pinned

    def write(self, shape: tuple[int, ...], dtype: np.dtype, producer: Operation, index: int) -> Value:
        """Make a new version, computed by an Operation, and return it."""
        held = self.value
        if held.producer is None and not held.version and not self.persistable and not self.is_data:
            held.shape, held.dtype, held.producer, held.index = shape, dtype, producer, index
            return held
        self.value = Value(self, shape, dtype, producer, index, held.version + 1)
        return self.value

    def __str__(self) -> str:
        return self.block.program.dialect.show_variable(self)

    def __repr__(self) -> str:
        kind = "param" if self.is_parameter else "persist" if self.persistable else "data" if self.is_data else "var"
        return f"{kind} {self.name}: {self.desc}"
