"""Paddle's methods of Program, Block and Variable (``create_var``, ``state_dict``), given to ``opkit.ir``'s classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy import ndarray

from opkit import static
from opkit.errors import UsageError
from opkit.ir import Block, Operation, Program, TensorDesc, Variable, canonical_dtype
from opkit.ops.core.types import Name
from opkit.paddle.framework.initializer import recipe_of
from opkit.paddle.framework.parameter import parameter_shape
from opkit.paddle.framework.place import CPUPlace
from opkit.paddle.semantics.dtypes import LOD_TENSOR
from opkit.paddle.semantics.scope_tensor import install_get_tensor
from opkit.paddle.tensor import random
from opkit.paddle.tensor.inplace import INPLACE
from opkit.paddle.tensor.methods import install, install_unsupported
from opkit.static.parameters import initialize
from opkit.static.storage import program_state, set_program_state


# ---- Block -----------------------------------------------------------------------------------------------------------
def _create_var(
    self: Block,
    name: Name = None,
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
    name: Name = None,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    trainable: bool = True,
    regularizer: Any = None,
    need_clip: bool = True,
    optimize_attr: Mapping[str, Any] | None = None,
    **others: Any,
) -> Any:
    """Return a parameter of this block.

    Its initializer runs where it stands in this block's own program, whenever that runs, as in Paddle 2.6: a script
    declares it in the startup program too, with an initializer, and without one in the main program.

    Raises:
        UsageError: shape or dtype is left out, or the name is taken with others.
        ParameterShapeError: the shape is not a list of whole numbers.
    """
    if shape is None or dtype is None:
        raise UsageError("Block.create_parameter takes a shape and a dtype, one of them is left out")
    desc = TensorDesc(parameter_shape("Block.create_parameter", shape, least=0), canonical_dtype(dtype))
    name = name or static.unique_name("_generated_var")
    made: Any = self.declare(name, desc, persistable=True, stop_gradient=not trainable)
    made.is_parameter, made.trainable, made.need_clip = True, trainable, need_clip
    made.regularizer, made.optimize_attr = regularizer, dict(optimize_attr or {"learning_rate": 1.0})
    if initializer is not None:
        initialize(made, recipe_of(initializer))
    return made


# ---- Program ---------------------------------------------------------------------------------------------------------
def _state_dict(self: Program, mode: str = "all", scope: Any = None) -> dict[str, ndarray]:
    """Return the persistable arrays by name: "all", "param" (parameters) or "opt" (everything else)."""
    if mode not in ("all", "param", "opt"):
        raise UsageError(f"state_dict: mode is 'all', 'param' or 'opt', got {mode!r}")
    wanted = {"all": (True, False), "param": (True,), "opt": (False,)}[mode]
    return program_state(self, scope or static.global_scope(), wanted)


def _set_state_dict(self: Program, state_dict: Mapping[str, Any], scope: Any = None) -> None:
    """Put arrays into the scope by name; a warning names those that the program does not have."""
    set_program_state(self, state_dict, scope or static.global_scope())


# ---- Variable --------------------------------------------------------------------------------------------------------
def _get_value(self: Variable, scope: Any = None) -> ndarray:
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


# ---- Operation -------------------------------------------------------------------------------------------------------
def _attr(self: Operation, name: str) -> Any:
    """Return an attribute's value; "op_namescope" and "op_device" say in which scope and for which device it is."""
    if name == "op_namescope":
        return f"/{self.scope}/" if self.scope else "/"
    if name == "op_device":
        return self.placement or ""
    return self.attrs[name]


def _place(self: Variable, *args: Any) -> Any:
    return CPUPlace()


class SetItemError(UsageError, RuntimeError):
    """A Variable was assigned to at an index (Paddle raises RuntimeError)."""


def _set_item(self: Variable, index: Any, value: Any) -> None:
    raise SetItemError(
        f"variable {self.name!r} cannot be changed at an index while a graph is built",
        help="x = paddle.static.setitem(x, index, value) makes a new one",
    )


def _self(self: Variable, *args: Any) -> Variable:
    """Return the Variable itself: there is one device."""
    return self


def install_graph() -> None:
    """Give the classes Paddle's methods."""
    block: Any = Block
    block.create_var, block.create_parameter = _create_var, _create_parameter
    program: Any = Program
    program.state_dict, program.set_state_dict = _state_dict, _set_state_dict
    operation: Any = Operation
    operation.attr = _attr
    install(Variable)
    variable: Any = Variable
    for name, function in INPLACE.items():
        setattr(variable, name, function)  # in a graph they return a new Variable, as in Paddle 2.6
    for name in ("normal_", "uniform_"):
        setattr(variable, name, getattr(random, name))  # they refuse: nothing is drawn until the graph runs
    variable.get_value, variable.set_value = _get_value, _set_value
    variable.to_string, variable.detach = _to_string, _detach
    variable.grad_name = property(lambda self: self.name + "@GRAD")
    variable.place = property(_place)
    variable.cpu = variable.cuda = _self
    variable.__setitem__ = _set_item
    variable.type = LOD_TENSOR
    variable.lod_level = 0
    variable.is_distributed = False
    install_unsupported(Variable)
    install_get_tensor()
