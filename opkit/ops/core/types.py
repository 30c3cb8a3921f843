"""The types that signatures of kernels, inference and gradient rules are written in.

No class is defined here: each is a short name for a type of Python, of numpy or of ``opkit.ir``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from numpy import ndarray

from opkit.ir import TensorDesc

#: The attributes of an applied op by name.
Attrs: TypeAlias = Mapping[str, Any]
#: Shapes and dtypes, one of each input or output; None where an optional input is left out.
Descs: TypeAlias = Sequence[TensorDesc]
#: Tensors or Variables of the current mode, or cotangents, None where there is none.
Values: TypeAlias = Sequence[Any]
#: Axes, the sizes of a shape, or other whole numbers, one per axis.
Ints: TypeAlias = Sequence[int]
#: Arrays of numpy, one of each input or output.
Arrays: TypeAlias = Sequence[ndarray]
#: Where a kernel writes its result; None: into a new array.
Out: TypeAlias = ndarray | None
#: What users call an op, a layer or a variable; None where a name is made up.
Name: TypeAlias = str | None
#: A function of which only what it returns matters here, or one that users wrote.
Function: TypeAlias = Callable[..., Any]
