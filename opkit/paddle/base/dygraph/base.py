"""``paddle.base.dygraph.base``: dynamic mode for a block, and Tensors of arrays (Paddle 1.6 to 2.6)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy import ndarray

from opkit.eager import no_grad
from opkit.errors import UsageError
from opkit.ops.core.types import Name
from opkit.paddle.autograd.backward_mode import grad
from opkit.paddle.base.framework import in_dygraph_mode as enabled
from opkit.paddle.tensor.creation import to_tensor
from opkit.shim.missing import guard as guarded
from opkit.static import disable_static as enable_dygraph
from opkit.static import enable_static as disable_dygraph

__all__ = ["disable_dygraph", "enable_dygraph", "enabled", "grad", "guard", "no_grad", "no_grad_", "to_variable"]

no_grad_ = no_grad


@contextmanager
def guard(place: Any = None) -> Iterator[None]:
    """Run ops at once within a ``with`` block, and go back to the mode that was on before.

    Args:
        place: accepted, without effect: there is one device.
    """
    was_dynamic = enabled()
    enable_dygraph()
    try:
        yield
    finally:
        if not was_dynamic:
            disable_dygraph()


def to_variable(value: Any, name: Name = None, zero_copy: bool | None = None, dtype: Any = None) -> Any:
    """Return a Tensor of an array or a list; a Tensor is returned as it is.

    Args:
        value: an array, a list, a tuple or a Tensor.
        name: of the Tensor, or None.
        zero_copy: True is warned of: the contents are copied.
        dtype: of the Tensor; None: the array's.

    Raises:
        UsageError: it is none of these.
    """
    if hasattr(value, "stop_gradient"):
        return value
    if not isinstance(value, (ndarray, Sequence)) or isinstance(value, str):
        raise UsageError(f"to_variable takes an array, a list, a tuple or a Tensor, got {type(value).__name__}")
    if zero_copy:
        # A script may look for Paddle's words.
        warnings.warn("Currently, zero_copy is not supported, and it will be discarded.", stacklevel=2)
    made: Any = to_tensor(value, dtype=dtype)
    if name is not None:
        made.name = name
    return made


__getattr__ = guarded(__name__, __all__)
