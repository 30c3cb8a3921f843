"""Programs, what is fed, what is kept: Paddle's names for ``opkit.static``'s functions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from opkit import static
from opkit.errors import UnsupportedError, UsageError
from opkit.ir import TensorDesc, Variable, canonical_dtype
from opkit.ops.core.mode import local
from opkit.ops.core.types import Ints, Name
from opkit.ops.kernels.initializer import constant
from opkit.paddle.framework.place import CPUPlace
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.semantics import builders as ops
from opkit.static.builder import building
from opkit.static.parameters import create_state
from opkit.static.parameters import data as add_data
from opkit.static.py_func import StaticModeError


def data(name: str, shape: Sequence[Any], dtype: Any = None, lod_level: int = 0) -> Variable:
    """Return a Variable that is fed; sizes of None or -1 may be any.

    Raises:
        StaticModeError: dynamic mode is on (also an AssertionError, which Paddle raises).
    """
    if not local.mode.is_static:
        raise StaticModeError(
            f"paddle.static.data({name!r}) adds to a program, but dynamic mode is on",
            help="call paddle.enable_static() first; in dynamic mode paddle.to_tensor makes a Tensor",
        )
    variable: Any = add_data(name, shape, default_dtype() if dtype is None else dtype)
    if lod_level:
        variable.lod_level = lod_level
    return variable  # type: ignore[no-any-return]


def create_global_var(
    shape: Ints, value: float, dtype: Any, persistable: bool = False, force_cpu: bool = False, name: Name = None
) -> Variable:
    """Return a variable that the startup program fills with a value and that lives across runs."""
    desc = TensorDesc(tuple(shape), canonical_dtype(dtype))
    return create_state(name or static.unique_name("_generated_var"), desc, constant(value))


def py_func(func: Any, x: Any, out: Any, backward_func: Any = None, skip_vars_in_backward_input: Any = None) -> Any:
    """Add a Python function to the program; see ``opkit.static.py_func``."""
    return static.py_func(
        func,
        x,
        out,
        backward_func,
        skip_vars_in_backward_input,
        mode_help="call paddle.enable_static()",
        tensor_help="in dynamic mode use paddle.autograd.PyLayer",
    )


def gradients(targets: Any, inputs: Any, target_gradients: Any = None, no_grad_set: Any = None) -> list[Any]:
    """Return the gradients of targets with respect to inputs: None for one that has none, [] where no input has one."""
    found: list[Any] = static.gradients(targets, inputs, target_gradients, no_grad_set)
    return found if any(gradient is not None for gradient in found) else []


def setitem(x: Variable, index: Any, value: Any) -> Variable:
    """Return a copy of x with a value at an index; with gradients, as ``x[index] = value`` has in dynamic mode."""
    return ops.setitem(x, index, value)  # type: ignore[no-any-return]


def Print(
    input: Any,
    first_n: int = -1,
    message: str | None = None,
    summarize: int = 20,
    print_tensor_name: bool = True,
    print_tensor_type: bool = True,
    print_tensor_shape: bool = True,
    print_tensor_layout: bool = True,
    print_tensor_lod: bool = True,
    print_phase: str = "both",
) -> Any:
    """Print a Variable whenever the program runs, and return it."""
    name, left = input.name, [first_n]

    def show(array: Any) -> None:
        if left[0] == 0:
            return
        left[0] -= 1
        text = f"Variable: {name}" if print_tensor_name else ""
        head = "  ".join(item for item in (message, text) if item)
        values = array.reshape(-1)[: summarize if summarize >= 0 else None]
        print(f"{head}\n  - shape: {list(array.shape)}\n  - dtype: {array.dtype}\n  - data: {values}")  # noqa: T201

    py_func(show, input, None)
    return input


class NameScopeError(UsageError, AssertionError):
    """A scope of a graph has no name (Paddle raises AssertionError)."""


def name_scope(prefix: str | None = None) -> AbstractContextManager[None]:
    """Group the ops of the block for display: ``opkit graph`` folds large graphs by it; nothing else changes.

    A second scope of the same name at the same place is ``NAME_1``.

    Raises:
        NameScopeError: it has no name.
    """
    if not prefix:
        raise NameScopeError("static.name_scope: a part of a graph needs a name", help='name_scope("encoder")')
    number = static.unique_name(f"name_scope/{building.scope}/{prefix}").rpartition("_")[2]
    return static.scoped(prefix if number == "0" else f"{prefix}_{number}")


class DeviceNameError(UsageError, TypeError):
    """The name of a device is not a str (Paddle raises TypeError)."""


def device_guard(device: str | None = None) -> AbstractContextManager[None]:
    """Mark the ops of this block for a device; all run on the CPU, as in a Paddle without GPUs.

    Args:
        device: "cpu", or "gpu", "xpu", "npu" with or without a number; None marks none.

    Raises:
        DeviceNameError: it is not a str.
        UsageError: it is no such name.
    """
    if device is not None and not isinstance(device, str):
        raise DeviceNameError(f"static.device_guard takes the name of a device, got {device!r}")
    kind, colon, _ = (device or "cpu").partition(":")
    if kind not in ("cpu", "gpu", "xpu", "npu") or (kind == "cpu" and colon):
        raise UsageError(f"static.device_guard: a device is 'cpu', or 'gpu:0' and the like, got {device!r}")
    return static.placed(device)


def cpu_places(device_count: int | None = None) -> list[CPUPlace]:
    """Return CPU places."""
    return [CPUPlace()] * (device_count or 1)


def cuda_places(device_ids: Any = None) -> list[Any]:
    """Refuse: opkit runs on the CPU only."""
    raise UnsupportedError("opkit runs on the CPU only, there are no GPU places", help="use cpu_places()")
