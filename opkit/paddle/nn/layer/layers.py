"""``paddle.nn.Layer``: parameters, buffers, sublayers, and the modes of training and evaluation."""

from __future__ import annotations

import re
import warnings
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from opkit import static
from opkit.eager import Tensor
from opkit.errors import MissingNameError, UsageError, unknown
from opkit.ir import canonical_dtype
from opkit.ops.core.mode import local
from opkit.ops.core.types import Function
from opkit.paddle.framework import initializer as init
from opkit.paddle.framework.parameter import ParamAttr, is_parameter, make_parameter, parameter_shape
from opkit.paddle.framework.place import NoDeviceError
from opkit.paddle.framework.static_mode import default_dtype
from opkit.paddle.nn.layer.state import Removable, add_hook, collect, load, run_between
from opkit.shim.missing import guard as _guard
from opkit.static.names import unique_name

__all__ = ["Layer"]


class ParameterTypeError(UsageError, TypeError):
    """A parameter, buffer or sublayer was to be replaced by something else."""


class LayerNameError(UsageError, KeyError):
    """A parameter or buffer was to have a name under which it could not be reached."""

    __str__ = UsageError.__str__


def _snake(name: str) -> str:
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


class Layer:
    """Base of all layers: assigning parameters, Tensors and layers to attributes registers them.

    Args:
        name_scope: what the names of its parameters begin with; the class's name where left out.
        dtype: of its parameters.

    Source: Paddle 2.6, paddle.nn.Layer.
    """

    training: bool
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _sub_layers: dict[str, Any]

    def __init__(self, name_scope: str | None = None, dtype: Any = "float32") -> None:
        setter = object.__setattr__
        setter(self, "training", True)
        setter(self, "_parameters", OrderedDict())
        setter(self, "_buffers", OrderedDict())
        setter(self, "_sub_layers", OrderedDict())
        setter(self, "_non_persistable_buffer_names_set", set())
        setter(self, "_pre_hooks", OrderedDict())
        setter(self, "_post_hooks", OrderedDict())
        setter(self, "_state_dict_hooks", OrderedDict())
        setter(self, "_dtype", canonical_dtype(dtype) if dtype is not None else default_dtype())
        setter(self, "_full_name", unique_name(_snake(name_scope or type(self).__name__)))

    # ---- use -------------------------------------------------------------------------------------------------------
    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Compute the outputs; to be defined by subclasses."""
        raise NotImplementedError(f"layer {type(self).__name__} defines no forward")

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        """Run forward, between the hooks; in a graph its ops are those of this layer."""
        if local.mode.is_static:
            with static.scoped(self._full_name):
                return run_between(self, inputs, kwargs)
        if not self._pre_hooks and not self._post_hooks:
            return self.forward(*inputs, **kwargs)
        return run_between(self, inputs, kwargs)

    def register_forward_pre_hook(self, hook: Function) -> Removable:
        """Call ``hook(layer, inputs)`` before each forward; what it returns replaces the inputs."""
        return add_hook(self._pre_hooks, hook)

    def register_forward_post_hook(self, hook: Function) -> Removable:
        """Call ``hook(layer, inputs, outputs)`` after each forward; what it returns replaces the outputs."""
        return add_hook(self._post_hooks, hook)

    def train(self) -> None:
        """Put this layer and its sublayers into the mode of training."""
        for layer in self.sublayers(include_self=True):
            object.__setattr__(layer, "training", True)

    def eval(self) -> None:
        """Put this layer and its sublayers into the mode of evaluation."""
        for layer in self.sublayers(include_self=True):
            object.__setattr__(layer, "training", False)

    def apply(self, fn: Callable[[Any], None]) -> Any:
        """Call a function with every sublayer and this layer; return this layer."""
        for layer in self._sub_layers.values():
            if layer is not None:
                layer.apply(fn)
        fn(self)
        return self

    def full_name(self) -> str:
        """Return the name that parameters' names begin with."""
        return str(self._full_name)

    # ---- making parameters -----------------------------------------------------------------------------------------
    def create_parameter(
        self, shape: Any, attr: Any = None, dtype: Any = None, is_bias: bool = False, default_initializer: Any = None
    ) -> Any:
        """Return a new parameter; assign it to an attribute to register it. ``attr=False`` makes none."""
        given = ParamAttr.of(attr)
        if given is False:
            return None
        default = init.global_or(default_initializer, is_bias) if default_initializer else init.default_for(is_bias)
        kind = self._dtype if dtype is None else dtype
        shape = parameter_shape(f"{type(self).__name__}.create_parameter", shape)
        return make_parameter(shape, kind, given, default, f"{self._full_name}.{'b' if is_bias else 'w'}")

    def _fixed_or_trained(self, shape: Any, attr: Any, default: Any, is_bias: bool = False) -> Any:
        """Return a new parameter; for ``attr=False`` one with its default value that is not trained."""
        if attr is not False:
            return self.create_parameter(shape, attr, is_bias=is_bias, default_initializer=default)
        held = self.create_parameter(shape, is_bias=is_bias, default_initializer=default)
        held.stop_gradient = True
        return held

    def add_parameter(self, name: str, parameter: Any) -> Any:
        """Register a parameter under a name; return it."""
        if parameter is not None and not is_parameter(parameter):
            raise ParameterTypeError(f"add_parameter({name!r}) takes a parameter, got {type(parameter).__name__}")
        self._checked(name, "parameter", self._parameters)
        self._parameters[name] = parameter
        return parameter

    def add_sublayer(self, name: str, sublayer: Any) -> Any:
        """Register a layer under a name; return it."""
        if sublayer is not None and not isinstance(sublayer, Layer):
            raise ParameterTypeError(f"add_sublayer({name!r}) takes a Layer, got {type(sublayer).__name__}")
        self._sub_layers[str(name)] = sublayer
        return sublayer

    def register_buffer(self, name: str, tensor: Any, persistable: bool = True) -> None:
        """Register a Tensor that is state but not a parameter; ``persistable``: part of the state dict."""
        if tensor is not None and not hasattr(tensor, "_data"):
            raise ParameterTypeError(f"register_buffer({name!r}) takes a Tensor, got {type(tensor).__name__}")
        self._checked(name, "buffer", self._buffers)
        self._buffers[name] = tensor
        kept = self._non_persistable_buffer_names_set
        kept.discard(name) if persistable else kept.add(name)

    def _checked(self, name: Any, kind: str, table: Mapping[str, Any]) -> None:
        """Refuse a name under which a parameter or buffer could not be reached."""
        if not isinstance(name, str):
            raise ParameterTypeError(f"{type(self).__name__}: the name of a {kind} is a string, got {name!r}")
        if not name or "." in name:
            raise LayerNameError(
                f"{type(self).__name__}: the name of a {kind} is not empty and has no '.', got {name!r}"
            )
        if name not in table and hasattr(self, name):
            raise LayerNameError(f"{type(self).__name__}: there is an attribute {name!r}, which a {kind} would hide")

    # ---- attributes ------------------------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        for table in ("_parameters", "_sub_layers", "_buffers"):
            found = self.__dict__.get(table, {})
            if name in found:
                return found[name]
        known = [] if name.startswith("_") else [item for item in dir(self) if not item.startswith("_")]
        raise unknown(f"{type(self).__name__!r} object has no attribute", name, known).error(MissingNameError)

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        if "_parameters" not in state:
            if is_parameter(value) or isinstance(value, Layer):
                raise UsageError(f"{type(self).__name__}: call super().__init__() before assigning {name!r}")
            object.__setattr__(self, name, value)
            return
        if is_parameter(value):
            self._forget(name)
            state["_parameters"][name] = value
        elif isinstance(value, Layer):
            self._forget(name)
            state["_sub_layers"][name] = value
        elif name in state["_parameters"] or name in state["_sub_layers"]:
            if value is not None:
                kind = "parameter" if name in state["_parameters"] else "sublayer"
                raise ParameterTypeError(
                    f"assignment to {kind} {name!r} takes a {kind} or None, got {type(value).__name__}"
                )
            state["_parameters" if name in state["_parameters"] else "_sub_layers"][name] = None
        elif name in state["_buffers"] and (value is None or isinstance(value, Tensor)):
            state["_buffers"][name] = value
        elif isinstance(value, Tensor):
            # A plain Tensor is a buffer that the state dict leaves out.
            self._forget(name)
            self.register_buffer(name, value, persistable=False)
        else:
            object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_sub_layers", "_buffers"):
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                return
        object.__delattr__(self, name)

    def _forget(self, name: str) -> None:
        state = self.__dict__
        state.pop(name, None)
        for table in ("_parameters", "_sub_layers", "_buffers"):
            state[table].pop(name, None)

    def __dir__(self) -> list[str]:
        state = self.__dict__
        held = (name for table in ("_parameters", "_sub_layers", "_buffers") for name in state.get(table, ()))
        return [*super().__dir__(), *held]

    # ---- walking ---------------------------------------------------------------------------------------------------
    def children(self) -> Iterator[Any]:
        """Yield the direct sublayers."""
        return (layer for _, layer in self.named_children())

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Yield the direct sublayers with their names."""
        seen: set[int] = set()
        for name, layer in self._sub_layers.items():
            if layer is not None and id(layer) not in seen:
                seen.add(id(layer))
                yield name, layer

    def sublayers(self, include_self: bool = False) -> list[Any]:
        """Return all sublayers, at any depth."""
        return [layer for _, layer in self.named_sublayers(include_self=include_self)]

    def named_sublayers(
        self, prefix: str = "", include_self: bool = False, layers_set: set[Any] | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Yield all sublayers with their dotted names."""
        seen = set() if layers_set is None else layers_set
        if include_self and self not in seen:
            seen.add(self)
            yield prefix, self
        for name, layer in self._sub_layers.items():
            if layer is not None and layer not in seen:
                yield from layer.named_sublayers(f"{prefix}.{name}" if prefix else name, True, seen)

    def parameters(self, include_sublayers: bool = True) -> list[Any]:
        """Return the parameters, each once."""
        return [parameter for _, parameter in self.named_parameters(include_sublayers=include_sublayers)]

    def named_parameters(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the parameters with their dotted names, each once."""
        yield from self._named("_parameters", prefix, include_sublayers)

    def buffers(self, include_sublayers: bool = True) -> list[Any]:
        """Return the buffers, each once."""
        return [buffer for _, buffer in self.named_buffers(include_sublayers=include_sublayers)]

    def named_buffers(self, prefix: str = "", include_sublayers: bool = True) -> Iterator[tuple[str, Any]]:
        """Yield the buffers with their dotted names, each once."""
        yield from self._named("_buffers", prefix, include_sublayers)

    def _named(self, table: str, prefix: str, deep: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        layers = self.named_sublayers(prefix, True) if deep else iter([(prefix, self)])
        for path, layer in layers:
            for name, item in layer.__dict__[table].items():
                if item is not None and id(item) not in seen:
                    seen.add(id(item))
                    yield f"{path}.{name}" if path else name, item

    # ---- state -----------------------------------------------------------------------------------------------------
    def state_dict(
        self,
        destination: Any = None,
        include_sublayers: bool = True,
        structured_name_prefix: str = "",
        use_hook: bool = True,
    ) -> Any:
        """Return parameters and persistable buffers by dotted name; ``use_hook``: as the state hooks change them."""
        return collect(self, destination, include_sublayers, structured_name_prefix, transient=False, hooked=use_hook)

    def set_state_dict(self, state_dict: Mapping[str, Any], use_structured_name: bool = True) -> Any:
        """Load parameters and buffers.

        Args:
            state_dict: what ``state_dict()`` or ``paddle.load`` returned.
            use_structured_name: names are dotted attribute names; else the parameters' own names.

        Returns:
            ``(missing names, unexpected names)``. A name that is missing or whose shape differs is warned of and left
            as it is; a name whose shape differs is in both (Paddle 2.6.2).
        """
        return load(self, state_dict, use_structured_name)

    set_dict = set_state_dict
    load_dict = set_state_dict

    def register_state_dict_hook(self, hook: Callable[[Any], Any]) -> Removable:
        """Call ``hook(state)`` in ``state_dict()``; what it returns replaces the state."""
        return add_hook(self._state_dict_hooks, hook)

    def clear_gradients(self) -> None:
        """Fill the gradients of all parameters with zeros."""
        for parameter in self.parameters():
            if not parameter.stop_gradient:
                parameter.clear_gradient()

    def to(self, device: Any = None, dtype: Any = None, blocking: bool | None = None) -> Any:
        """Change the dtype of floating-point parameters and buffers; return this layer."""
        if isinstance(device, str) and not device.startswith("cpu"):
            raise NoDeviceError(f"opkit runs on the CPU only, there is no device {device!r}")
        return self if dtype is None else self._cast(dtype)

    def _cast(self, dtype: Any, excluded: tuple[type, ...] = ()) -> Any:
        kind = canonical_dtype(dtype)
        for layer in self.sublayers(include_self=True):
            if isinstance(layer, excluded):
                continue
            for item in [*layer.parameters(False), *layer.buffers(False)]:
                if item._data.dtype.kind == "f":
                    item._data = item._data.astype(kind)
            object.__setattr__(layer, "_dtype", kind)
        return self

    def astype(self, dtype: Any) -> Any:
        """Change the dtype of floating-point parameters and buffers; return this layer."""
        return self.to(dtype=dtype)

    def float(self, excluded_layers: Any = None) -> Any:
        """Make parameters and buffers float32, but not those of layers of the excluded classes; return this layer."""
        given = () if excluded_layers is None else excluded_layers
        kinds = tuple(given) if isinstance(given, (list, tuple)) else (given,)
        if not all(isinstance(kind, type) for kind in kinds):
            raise ParameterTypeError(f"Layer.float: excluded_layers are classes of layers, got {excluded_layers!r}")
        return self._cast("float32", kinds)

    def float16(self, excluded_layers: Any = None) -> Any:
        """Leave the layer as it is, with a warning, as Paddle does on a CPU; return it."""
        warnings.warn("Layer.float16: a CPU does not compute in float16; the layer is left as it is", stacklevel=2)
        return self

    def backward(self, *inputs: Any) -> None:
        """Refuse: a layer's gradient is that of the ops in ``forward``.

        Raises:
            ValueError: always.
        """
        raise UsageError(f"layer {type(self).__name__}: a Layer has no backward", help="write a PyLayer")

    # ---- printing --------------------------------------------------------------------------------------------------
    def extra_repr(self) -> str:
        """Return what stands in the parentheses when the layer prints."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = [f"({name}): " + repr(layer).replace("\n", "\n  ") for name, layer in self._sub_layers.items()]
        text = type(self).__name__ + "("
        if extra and not lines:
            return text + extra + ")"
        if lines:
            return text + "\n  " + "\n  ".join([*extra.splitlines(), *lines]) + "\n)"
        return text + ")"


__getattr__ = _guard(globals())
