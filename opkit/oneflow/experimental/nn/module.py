"""Module: a layer with its parameters, buffers and submodules (``flow.nn.Module``, v0.4).

Sequential: modules that are called one after the other (``flow.nn.Sequential``, v0.4).

Parameter: a tensor that a Module trains (``flow.nn.Parameter``, v0.4).
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from opkit.errors import MissingNameError, ShapeError, UsageError, unknown
from opkit.oneflow.experimental.functions import Tensor
from opkit.oneflow.experimental.tensors import device as device_type

__all__ = [
    "Module",
    "Parameter",
    "Sequential",
]


class Parameter(Tensor):
    """A tensor that a Module trains.

    Args:
        data: a tensor; its data is shared.
        requires_grad: whether ``backward`` computes its gradient.
    """

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        if not isinstance(data, Tensor):
            raise TypeError(f"flow.nn.Parameter takes a Tensor, got {type(data).__name__}")
        self._value = data.detach()._value
        self._device = data.device
        self.requires_grad = requires_grad

    def __repr__(self) -> str:
        return f"Parameter containing: {super().__repr__()}"


#: Where a module keeps what is found among its attributes.
_PLACES = ("_parameters", "_buffers", "_modules")


class Module:
    """Base of layers: parameters, buffers and submodules are found among its attributes; ``forward`` is the user's."""

    #: The settings that ``repr`` shows.
    _shown: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        held: dict[str, Any] = {
            "_parameters": OrderedDict(),
            "_buffers": OrderedDict(),
            "_modules": OrderedDict(),
            "_not_saved": set(),
            "training": True,
        }
        self.__dict__.update(held)

    # ---- attributes --------------------------------------------------------------------------------------------------
    def __setattr__(self, name: str, value: Any) -> None:
        held = self.__dict__
        if "_parameters" not in held:
            if isinstance(value, (Tensor, Module)):
                raise AttributeError(f"{type(self).__name__}: call super().__init__() before setting {name!r}")
            held[name] = value
            return
        kinds = {"_parameters": Parameter, "_modules": Module}
        place = next((place for place, kind in kinds.items() if isinstance(value, kind)), None)
        if place is None and isinstance(value, (Tensor, type(None))):
            place = next((item for item in ("_buffers", *kinds) if name in held[item]), None)
            if place == "_parameters" and value is not None:
                raise TypeError(f"{type(self).__name__}.{name} is a parameter: assign a flow.nn.Parameter or None")
        for item in _PLACES:
            if item != place:
                held[item].pop(name, None)
        if place is None:
            held[name] = value
        else:
            held.pop(name, None)
            held[place][name] = value

    def __getattr__(self, name: str) -> Any:
        places = [self.__dict__.get(place, {}) for place in _PLACES]
        for place in places:
            if name in place:
                return place[name]
        raise unknown(f"{type(self).__name__} has no", name, [item for place in places for item in place]).error(
            MissingNameError
        )

    def __delattr__(self, name: str) -> None:
        for place in _PLACES:
            if name in self.__dict__[place]:
                del self.__dict__[place][name]
                return
        object.__delattr__(self, name)

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter under a name, or reserve the name with None.

        Raises:
            TypeError: it is not a Parameter.
        """
        self._add("register_parameter", "_parameters", name, param, Parameter, "flow.nn.Parameter")

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is saved and not trained; with ``persistent=False`` it is not saved either.

        Raises:
            TypeError: it is not a Tensor.
        """
        self._add("register_buffer", "_buffers", name, tensor, Tensor, "flow.Tensor")
        (self._not_saved.discard if persistent else self._not_saved.add)(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a submodule under a name.

        Raises:
            TypeError: it is not a Module.
        """
        self._add("add_module", "_modules", name, module, Module, "flow.nn.Module")

    def _add(self, method: str, place: str, name: str, item: Any, kind: type, wanted: str) -> None:
        if item is not None and not isinstance(item, kind):
            raise TypeError(f"{method}({name!r}): expected a {wanted}, got {type(item).__name__}")
        if not isinstance(name, str) or not name or "." in name:
            raise KeyError(f"{type(self).__name__}: a name is a non-empty string without dots, got {name!r}")
        if hasattr(self, name) and name not in self.__dict__[place]:
            raise KeyError(f"{type(self).__name__} has an attribute {name!r} already")
        self.__dict__[place][name] = item

    # ---- what there is -----------------------------------------------------------------------------------------------
    def named_modules(self, memo: set[Module] | None = None, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Yield this module and all below it, each once, with their names."""
        seen = set() if memo is None else memo
        if self in seen:
            return
        seen.add(self)
        yield prefix, self
        for name, module in self.named_children():
            yield from module.named_modules(seen, f"{prefix}.{name}" if prefix else name)

    def modules(self) -> Iterator[Module]:
        """Yield this module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Yield the submodules with their names."""
        return ((name, module) for name, module in self._modules.items() if module is not None)

    def children(self) -> Iterator[Module]:
        """Yield the submodules."""
        return (module for _, module in self.named_children())

    def _named(self, place: str, prefix: str, recurse: bool) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix=prefix) if recurse else [(prefix, self)]:
            for name, item in module.__dict__[place].items():
                if item is not None and id(item) not in seen:
                    seen.add(id(item))
                    yield (f"{path}.{name}" if path else name), item

    def named_parameters(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Parameter]]:
        """Yield all parameters, each once, with their names."""
        return self._named("_parameters", prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Yield all parameters, each once."""
        yield from (item for _, item in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Yield all buffers, each once, with their names."""
        return self._named("_buffers", prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Yield all buffers, each once."""
        yield from (item for _, item in self.named_buffers(recurse=recurse))

    # ---- running -----------------------------------------------------------------------------------------------------
    def forward(self, *args: Any) -> Any:
        """Compute the result; a subclass says how."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return ``forward(*args)``."""
        return self.forward(*args, **kwargs)

    def train(self, mode: bool = True) -> Module:
        """Let this module and all below it train, or not."""
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Module:
        """Let this module and all below it not train."""
        return self.train(False)

    def apply(self, fn: Callable[[Module], Any]) -> Module:
        """Call a function with each module, the innermost first."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, device: Any = None) -> Module:
        """Let all parameters and buffers be on a device."""
        where = device if isinstance(device, device_type) else device_type(device or "cpu")
        for _, item in (*self.named_parameters(), *self.named_buffers()):
            item._device = where
        return self

    # ---- saving ------------------------------------------------------------------------------------------------------
    def state_dict(self, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> dict[str, Tensor]:
        """Return all parameters and saved buffers themselves, by name; ``keep_vars`` is accepted without effect."""
        found: dict[str, Tensor] = OrderedDict() if destination is None else destination
        for path, module in self.named_modules(prefix=prefix.removesuffix(".")):
            items = {**module._parameters, **module._buffers}
            for name, item in items.items():
                if item is not None and name not in module._not_saved:
                    found[f"{path}.{name}" if path else name] = item
        return found

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Copy data into the parameters and buffers of the same names.

        Raises:
            UsageError: names are missing or left over, and ``strict``.
            ShapeError: a shape differs; nothing was loaded.
        """
        own = self.state_dict()
        missing = [name for name in own if name not in state_dict]
        spare = [name for name in state_dict if name not in own]
        if strict and (missing or spare):
            told = [f"lacks {', '.join(missing)}"] * bool(missing) + [f"has besides {', '.join(spare)}"] * bool(spare)
            raise UsageError(f"load_state_dict of {type(self).__name__}: the state {' and '.join(told)}")
        ready = {name: _array(state_dict[name]) for name in own if name in state_dict}
        for name, array in ready.items():
            if array.shape != tuple(own[name].shape):
                raise ShapeError(
                    f"load_state_dict of {type(self).__name__}: {name!r} has shape {tuple(own[name].shape)}, the state "
                    f"{array.shape}"
                )
        for name, array in ready.items():
            own[name].copy_(array)

    # ---- text --------------------------------------------------------------------------------------------------------
    def extra_repr(self) -> str:
        """Return the settings that ``repr`` shows in the brackets."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self._shown)

    def __repr__(self) -> str:
        inner = [f"({name}): {module!r}".replace("\n", "\n  ") for name, module in self.named_children()]
        if not inner:
            return f"{type(self).__name__}({self.extra_repr()})"
        return f"{type(self).__name__}(\n  " + "\n  ".join([*filter(None, [self.extra_repr()]), *inner]) + "\n)"


def _array(item: Any) -> ndarray:
    return item.numpy() if hasattr(item, "numpy") else np.asarray(item)


class Sequential(Module):
    """Modules that are called one after the other, held under the names "0", "1", ...

    Args:
        args: modules, or one dict of modules by name.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        is_named = len(args) == 1 and isinstance(args[0], Mapping)
        for name, module in args[0].items() if is_named else enumerate(args):
            self.add_module(str(name), module)

    def _key(self, index: int) -> str:
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"{type(self).__name__} has {len(self)} items, number {index} is not there")
        return str(list(self._modules)[at])

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._modules.values()))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return type(self)(*list(self)[index])
        return self._modules[self._key(index)]

    def __setitem__(self, index: int, item: Any) -> None:
        self._modules[self._key(index)] = item

    def __delitem__(self, index: Any) -> None:
        left = list(self)
        del left[index]
        self._modules.clear()
        self.extend(left)

    def append(self, item: Any) -> Any:
        """Add an item at the end."""
        self._modules[str(len(self))] = item
        return self

    def extend(self, items: Iterable[Any]) -> Any:
        """Add items at the end."""
        for item in items:
            self.append(item)
        return self

    __iadd__ = extend

    def forward(self, input: Any) -> Any:
        """Return what the last module makes of what the others make of the input."""
        for module in self:
            input = module(input)
        return input
