"""Paddle's methods of Program, Block and Variable (``create_var``, ``state_dict``), given to ``opkit.ir``'s classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from opkit import static
from opkit.errors import UsageError
from opkit.ir import Block, Program, TensorDesc, Variable, canonical_dtype
from opkit.paddle.framework.parameter import ParamAttr, make_parameter
from opkit.paddle.framework.place import CPUPlace
from opkit.paddle.nn.initializer import default_for
from opkit.paddle.semantics.scope_tensor import install_get_tensor
from opkit.paddle.tensor.methods import install
from opkit.paddle.tensor.unsupported import install_unsupported
from opkit.static.storage import program_state, set_program_state

__all__ = ["install_graph"]


# ---- Block -----------------------------------------------------------------------------------------------------------
def _create_var(
    self: Block,
    name: str | None = None,
    dtype: Any = None,
    shape: Sequence[int | None] | None = None,
    persistable: bool = False,
    stop_gradient: bool = False,
    **others: Any,
) -> Variable:
    """Return a Variable of this name, made if there is none; with another shape or dtype that is an error."""
    if name is None:
        name = static.unique_name("_generated_var")
    sizes = tuple([-1 if size is None else int(size) for size in shape or ()])
    desc = TensorDesc(sizes, canonical_dtype("float32" if dtype is None else dtype))
    held = self.vars.get(name)
    if held is not None and shape is None and dtype is None:
        return held
    variable = self.declare(name, desc, persistable=persistable, stop_gradient=stop_gradient)
    if held is None and shape is None:
        variable.has_shape = False  # py_func asks for one
    return variable


def _create_parameter(
    self: Block,
    name: str | None = None,
    shape: Sequence[int] = (),
    dtype: Any = "float32",
    initializer: Any = None,
    trainable: bool = True,
    **others: Any,
) -> Any:
    """Return a new parameter of this block's program."""
    attr = ParamAttr(name=name, initializer=initializer, trainable=trainable)
    with static.program_guard(self.program):
        return make_parameter(shape, dtype, attr, default_for(is_bias=False), "create_parameter.w")


# ---- Program ---------------------------------------------------------------------------------------------------------
def _state_dict(self: Program, mode: str = "all", scope: Any = None) -> dict[str, np.ndarray]:
    """Return the persistable arrays by name: "all", "param" (parameters) or "opt" (everything else)."""
    if mode not in ("all", "param", "opt"):
        raise UsageError(f"state_dict: mode is 'all', 'param' or 'opt', got {mode!r}")
    wanted = {"all": (True, False), "param": (True,), "opt": (False,)}[mode]
    return program_state(self, scope or static.global_scope(), wanted)


def _set_state_dict(self: Program, state_dict: Mapping[str, Any], scope: Any = None) -> None:
    """Put arrays into the scope by name; a warning names those that the program does not have."""
    set_program_state(self, state_dict, scope or static.global_scope())


# ---- Variable --------------------------------------------------------------------------------------------------------
def _get_value(self: Variable, scope: Any = None) -> np.ndarray:
    """Return a copy of a persistable Variable's data."""
    holder = (scope or static.global_scope()).find_var(self.name)
    if holder is None or holder.array is None:
        raise UsageError(f"variable {self.name!r} has no data in the scope", help="run the startup program first")
    return holder.array.copy()  # type: ignore[no-any-return]


def _set_value(self: Variable, value: Any, scope: Any = None) -> None:
    """Replace a persistable Variable's data."""
    set_program_state(self.block.program, {self.name: value}, scope or static.global_scope())


def _to_string(self: Variable, throw_on_error: bool = False, with_details: bool = False) -> str:
    """Return one line: kind, name, shape and dtype."""
    return repr(self)


def _detach(self: Variable) -> Variable:
    """Return the same data as a Variable through which no gradient flows."""
    from opkit.paddle.tensor.creation import clone

    copied: Variable = clone(self)
    copied.stop_gradient = True
    return copied


def _place(self: Variable, *args: Any) -> Any:
    return CPUPlace()


def install_graph() -> None:
    """Give the classes Paddle's methods."""
    block: Any = Block
    block.create_var, block.create_parameter = _create_var, _create_parameter
    program: Any = Program
    program.state_dict, program.set_state_dict = _state_dict, _set_state_dict
    install(Variable)
    variable: Any = Variable
    variable.get_value, variable.set_value = _get_value, _set_value
    variable.to_string, variable.detach = _to_string, _detach
    variable.grad_name = property(lambda self: self.name + "@GRAD")
    variable.place = property(_place)
    variable.type = "LOD_TENSOR"
    variable.lod_level = 0
    install_unsupported(Variable)
    install_get_tensor()
