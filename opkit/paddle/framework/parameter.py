"""Parameters: ``ParamAttr``, ``create_parameter``, and ``EagerParamBase``, their class in dynamic mode."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from opkit.eager import Tensor, wrap
from opkit.errors import DtypeError, ShapeError, UsageError
from opkit.ir import Shape, canonical_dtype
from opkit.ops.core.mode import local
from opkit.ops.core.types import Name
from opkit.ops.kernels import initializer as recipes
from opkit.paddle.framework import initializer as init
from opkit.paddle.framework.static_mode import default_dtype, static_hooks
from opkit.paddle.semantics import builders as ops
from opkit.static import default_main_program
from opkit.static.names import unique_name


class ParameterShapeError(ShapeError, TypeError, AssertionError):
    """A parameter's shape is not a list of positive whole numbers (Paddle raises one of these, by mode and fault)."""


class ParamAttrError(UsageError, TypeError):
    """What is given as a parameter's attributes is none (Paddle raises TypeError)."""


class ParamAttr:
    """How a parameter is named, initialised and trained.

    Args:
        name: its name, made where left out.
        initializer: its first value.
        learning_rate: factor on the optimizer's learning rate.
        regularizer: an L1Decay or L2Decay that takes precedence over the optimizer's.
        trainable: False for a parameter that takes no gradient.
        do_model_average: accepted, without effect.
        need_clip: whether gradient clipping includes it.
    """

    def __init__(
        self,
        name: Name = None,
        initializer: Any = None,
        learning_rate: float = 1.0,
        regularizer: Any = None,
        trainable: bool = True,
        do_model_average: bool = True,
        need_clip: bool = True,
    ) -> None:
        self.name = name
        self.initializer = initializer
        self.learning_rate = learning_rate
        self.regularizer = regularizer
        self.trainable = trainable
        self.do_model_average = do_model_average
        self.need_clip = need_clip

    @staticmethod
    def of(attr: Any) -> Any:
        """Return a ParamAttr for what users may pass: one, a name, an initializer, None; False stays False.

        Raises:
            ParamAttrError: it is something else.
        """
        if attr is None or attr is True:
            return ParamAttr()
        if attr is False:
            return False
        if isinstance(attr, ParamAttr):
            return attr
        if isinstance(attr, str):
            return ParamAttr(name=attr)
        if isinstance(attr, (init.Initializer, recipes.Initializer)):
            return ParamAttr(initializer=attr)
        if hasattr(attr, "coefficient"):
            return ParamAttr(regularizer=attr)
        raise ParamAttrError(f"a parameter's attr is a ParamAttr, a name, an initializer or False, got {attr!r}")


def parameter_shape(function: str, shape: Any, least: int = 1) -> Shape:
    """Return the shape of a new parameter.

    Args:
        function: which function was called, for messages.
        shape: a list, tuple or array of Python's or numpy's whole numbers.
        least: the smallest size.

    Raises:
        ParameterShapeError: it is something else; Paddle refuses fractions, Tensors, a bare int and sizes below 1 too.
    """
    items = shape.tolist() if isinstance(shape, ndarray) and shape.ndim == 1 else shape
    if not isinstance(items, (list, tuple)):
        raise ParameterShapeError(
            f"{function}: a parameter's shape is a list of ints, got {type(shape).__name__} {shape!r}",
            help=f"one axis is written [{shape}]" if isinstance(shape, (int, np.integer)) else "",
        )
    for item in items:
        is_whole = isinstance(item, (int, np.integer)) or (isinstance(item, np.floating) and item.is_integer())
        if not is_whole or isinstance(item, bool) or item < least:
            raise ParameterShapeError(
                f"{function}: a size is an int of at least {least}, got {item!r} in {list(items)}"
            )
    return tuple(int(item) for item in items)


def make_parameter(shape: Any, dtype: Any, attr: ParamAttr, default: Any, prefix: str) -> Any:
    """Return a new parameter of the current mode.

    Args:
        shape: its shape.
        dtype: its dtype.
        attr: as the user gave it.
        default: the initializer, or a function of (parameter, block), where neither the user nor
            ``set_global_initializer`` gave one.
        prefix: what its name begins with where the user gave none.
    """
    sizes = tuple(int(size) for size in ([shape] if isinstance(shape, int) else shape))
    kind = canonical_dtype(dtype)
    name = attr.name or unique_name(prefix)
    recipe = default if attr.initializer is None else attr.initializer
    if local.mode.is_static:
        recipe = init.recipe_of(recipe)
        named = ParamAttr(
            name, recipe, attr.learning_rate, attr.regularizer, attr.trainable, attr.do_model_average, attr.need_clip
        )
        return static_hooks.create_parameter(sizes, kind, named, recipe)
    own = init.is_own(recipe)
    first = init.recipe_of(init.Constant(0.0) if own else recipe)
    parameter = wrap(first(ops.generator(), sizes, kind), stop_gradient=not attr.trainable)
    parameter.__class__ = EagerParamBase
    parameter.is_parameter = True
    parameter.persistable = True
    parameter.name = name
    parameter.optimize_attr = {"learning_rate": attr.learning_rate}  # type: ignore[attr-defined]
    parameter.regularizer = attr.regularizer  # type: ignore[attr-defined]
    parameter.need_clip = attr.need_clip  # type: ignore[attr-defined]
    parameter.do_model_average = attr.do_model_average  # type: ignore[attr-defined]
    if own:
        recipe(parameter, default_main_program().global_block())
    return parameter


def create_parameter(
    shape: Any,
    dtype: Any = None,
    name: Name = None,
    attr: Any = None,
    is_bias: bool = False,
    default_initializer: Any = None,
) -> Any:
    """Return a new trainable parameter.

    Args:
        shape: its shape.
        dtype: its dtype, the default one where left out.
        name: its name.
        attr: a ParamAttr, a name or an initializer.
        is_bias: without an initializer, zeros instead of Xavier's distribution.
        default_initializer: used where ``attr`` names none.

    Raises:
        ParameterShapeError: the shape is not a list of positive whole numbers.
        ParamAttrError: ``attr`` is none of these.
        DtypeError: without an initializer, a dtype that is not a floating-point one.
    """
    sizes = parameter_shape("create_parameter", shape)
    given = ParamAttr.of(attr)
    if given is False:
        raise UsageError("create_parameter: attr=False creates no parameter")
    if not isinstance(name, str | None):
        raise UsageError(f"create_parameter: name is a str, got {name!r}")
    if name is not None and given.name is None:
        given.name = name
    recipe = init.default_for(is_bias) if default_initializer is None else default_initializer
    kind = canonical_dtype(default_dtype() if dtype is None else dtype)
    is_drawn = not is_bias and default_initializer is None and given.initializer is None
    if is_drawn and not kind.startswith("float"):
        raise DtypeError(
            f"create_parameter: Xavier's distribution draws floats, the dtype is {kind}",
            help="give a default_initializer, such as paddle.nn.initializer.Constant(0)",
        )
    return make_parameter(sizes, kind, given, recipe, f"create_parameter_{_next()}.{'b' if is_bias else 'w'}")


def _next() -> str:
    return unique_name("create_parameter").rpartition("_")[2]


_copied: Any = Tensor.__deepcopy__  # type: ignore[attr-defined]  # methods are attached to Tensor at import


class _IsParameter(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor) and is_parameter(instance)


class EagerParamBase(Tensor, metaclass=_IsParameter):
    """A new parameter of zeros; to ``isinstance`` everything that is marked as a parameter is one.

    Args:
        shape: its shape.
        dtype: its dtype.
        kwargs: ``name``, ``trainable``, ``need_clip``, ``regularizer``, ``optimize_attr`` with a "learning_rate".
    """

    __slots__ = ()

    #: No parameter is spread over processes.
    is_distributed = False

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """Return a copy named after this parameter."""
        if id(self) in memo:
            return memo[id(self)]
        twin: Any = _copied(self, memo)
        twin.name = unique_name(f"{self.name}_deepcopy")
        return twin

    def __new__(cls, shape: Any, dtype: Any = "float32", **kwargs: Any) -> Any:
        """Return the parameter."""
        if shape is None or dtype is None:
            raise UsageError("EagerParamBase takes a shape and a dtype, one of them is None")
        shape = parameter_shape("EagerParamBase", shape, least=0)
        return make_parameter(shape, dtype, _attr(kwargs), init.Constant(0.0), "_eager_param_base")

    def __init__(self, shape: Any, dtype: Any = "float32", **kwargs: Any) -> None:
        # All is done when __new__ has made the parameter.
        pass

    @staticmethod
    def from_tensor(tensor: Any, **kwargs: Any) -> Any:
        """Return a new parameter with a copy of a Tensor's data.

        Raises:
            TypeError: it is not a Tensor.
        """
        if not isinstance(tensor, Tensor):
            raise TypeError(f"EagerParamBase.from_tensor takes a Tensor, got {type(tensor).__name__}")
        made: Any = EagerParamBase(tensor.shape, tensor._data.dtype, **kwargs)
        made.set_value(wrap(tensor._data.copy()))
        return made


def _attr(options: dict[str, Any]) -> ParamAttr:
    rate = (options.get("optimize_attr") or {}).get("learning_rate", 1.0)
    return ParamAttr(
        options.get("name"),
        None,
        rate,
        options.get("regularizer"),
        options.get("trainable", True),
        need_clip=options.get("need_clip", True),
    )


def is_parameter(item: Any) -> bool:
    """Return whether this is a parameter of either mode."""
    return bool(getattr(item, "is_parameter", False)) and (isinstance(item, Tensor) or hasattr(item, "_data"))
