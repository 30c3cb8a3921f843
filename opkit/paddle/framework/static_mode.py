"""What the facade's classes call in static mode; ``opkit.paddle.static`` fills it in when it is imported.

Layers and optimizers work in both modes. Where a mode matters (a new parameter, a minimised loss), they come here.

The default dtype of floats.
"""

from __future__ import annotations

from typing import Any

from opkit.errors import DtypeError, UsageError
from opkit.ir import canonical_dtype
from opkit.ops.core.mode import local
from opkit.ops.core.types import Function


class StaticHooks:
    """Functions of static mode.

    Attributes:
        create_parameter: ``(shape, dtype, attr, initializer) -> Variable``, where ``attr`` is a ParamAttr whose name
            is set and ``initializer`` an ``opkit.ops.kernels.initializer.Initializer``.
        create_buffer: ``(array, name) -> Variable`` that persists and takes no gradient.
        minimize: ``(optimizer, loss, startup_program, parameters, no_grad_set) -> (ops, [(param, grad)])``.
        backward: ``(optimizer, loss, startup_program, parameters, no_grad_set) -> [(param, grad)]``.
        apply_gradients: ``(optimizer, [(param, grad)]) -> ops``.
    """

    def __init__(self) -> None:
        self.create_parameter: Function = self._missing
        self.create_buffer: Function = self._missing
        self.minimize: Function = self._missing
        self.backward: Function = self._missing
        self.apply_gradients: Function = self._missing

    def _missing(self, *args: Any, **kwargs: Any) -> Any:
        raise UsageError("static mode is not loaded", help="import paddle.static")


static_hooks = StaticHooks()


def in_dynamic_mode() -> bool:
    """Return whether ops run at once in this thread."""
    return not local.mode.is_static


def in_pir_mode() -> bool:
    """Return whether Paddle 3's new graph form is on: never."""
    return False


use_pir_api = in_pir_mode


_default = ["float32"]


def default_dtype() -> str:
    """Return the name of the dtype that Python floats become."""
    return _default[0]


def get_default_dtype() -> str:
    """Return the name of the dtype that Python floats become."""
    return _default[0]


def set_default_dtype(d: Any) -> None:
    """Choose the dtype that Python floats become.

    Raises:
        DtypeError: it is not a floating-point dtype.
    """
    name = canonical_dtype(d)
    if not name.startswith("float"):
        raise DtypeError(f"set_default_dtype takes a floating-point dtype, got {name}")
    _default[0] = name
