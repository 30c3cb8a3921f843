"""A checkable from a PyLayer: its forward and backward run through dynamic mode, its gradients seen uncast.

Where the cases come from is the caller's business.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable
from opkit.eager import PyLayer, Tensor, grad, install, wrap
from opkit.errors import Location, UsageError
from opkit.ops import local
from opkit.verify.isolation.blame import shown_path
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.pair import location_of
from opkit.verify.subjects.second import second_of

__all__ = ["Parameters", "checkable_of_layer", "dynamic_mode", "is_layer", "parameters_of"]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def is_layer(value: Any) -> bool:
    """Say whether a value is a PyLayer class that can be applied."""
    return isinstance(value, type) and issubclass(value, PyLayer) and value is not PyLayer


def dynamic_mode() -> None:
    """Go back to dynamic mode, whatever a user's file switched on when it was imported."""
    install()
    local.mode.is_static = False
    local.mode.is_grad_enabled = True


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of a PyLayer's forward, ctx left out.

    Args:
        positional: names in order.
        starred: name of ``*args``, "" without.
        named: names of keyword-only parameters.
        takes_any: whether there is a ``**kwargs``.
        defaults: {name: default} of those that have one.
    """

    positional: tuple[str, ...]
    starred: str
    named: tuple[str, ...]
    takes_any: bool
    defaults: Mapping[str, Any]

    @property
    def names(self) -> tuple[str, ...]:
        """Every name, in the order of a call."""
        return (*self.positional, *([self.starred] if self.starred else ()), *self.named)

    def call(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return positional and keyword arguments for values by name; those left out take their defaults."""
        args: list[Any] = []
        rest = dict(values)
        for name in self.positional:
            if name not in rest:
                break
            args.append(rest.pop(name))
        if self.starred and self.starred in rest:
            args.extend(rest.pop(self.starred))
        return args, rest

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name: the reverse of ``call``."""
        named = dict(zip(self.positional, args))
        if self.starred and len(args) > len(self.positional):
            named[self.starred] = list(args[len(self.positional) :])
        return {**named, **kwargs}


def parameters_of(layer: type) -> Parameters:
    """Return the parameters of a PyLayer's forward."""
    every = list(inspect.signature(layer.forward).parameters.values())  # type: ignore[attr-defined]
    if every and every[0].kind in _POSITIONAL:
        every = every[1:]
    kinds: dict[Any, list[str]] = {}
    for item in every:
        kinds.setdefault(item.kind, []).append(item.name)
    return Parameters(
        tuple(item.name for item in every if item.kind in _POSITIONAL),
        "".join(kinds.get(inspect.Parameter.VAR_POSITIONAL, [])),
        tuple(kinds.get(inspect.Parameter.KEYWORD_ONLY, [])),
        inspect.Parameter.VAR_KEYWORD in kinds,
        {item.name: item.default for item in every if item.default is not item.empty},
    )


def checkable_of_layer(
    layer: type,
    cases: Callable[[np.random.Generator], Iterable[Sequence[Any] | Mapping[str, Any]]] | None = None,
    *,
    recorded: Sequence[Mapping[str, Any]] = (),
    constants: frozenset[str] = frozenset(),
    declared: Declared | None = None,
    name: str = "",
) -> Checkable:
    """Make a checkable of a PyLayer.

    Args:
        layer: the class.
        cases: yields forward's arguments, by name or in order; float arrays take a gradient, integer ones do not,
            other values pass through.
        recorded: in place of cases: arguments by name, as a run saw them.
        constants: float inputs that take no gradient.
        declared: exceptions that the file declares.
        name: what the report calls it.

    Raises:
        UsageError: there is no case, or a case does not fit forward's parameters.
    """
    parameters = parameters_of(layer)
    given = [dict(case) for case in recorded]
    if cases is not None:
        given = [_named(parameters, case, layer) for case in _first(cases(np.random.default_rng(0)))]
    if not given:
        raise UsageError(f"there is no case for {layer.__name__}", where=location_of(cases) if cases else None)
    inputs = _inputs(parameters, given)
    attrs = _attrs(parameters, given, inputs)
    runner = _Runner(layer, parameters, frozenset(inputs), constants)
    declared = declared or Declared()
    outputs = runner.count_outputs(given[0])
    made = Checkable(
        name=name or layer.__qualname__.replace("<locals>.", ""),
        inputs=tuple(_arg(item, given) for item in inputs),
        outputs=tuple(Arg("y" if outputs == 1 else f"y{index}") for index in range(outputs)),
        forward=runner.forward,
        vjp=runner.vjp,
        attrs=attrs,
        cases=None if cases is None else _drawn(cases, parameters, layer),
        recorded=tuple(_case(item, inputs) for item in given) if cases is None else (),
        gradients=frozenset(item for item in inputs if item not in constants and _is_float(item, given)),
        surrogate=None if declared.surrogate is None else _surrogate(declared.surrogate, runner),
        nondifferentiable_outputs=declared.nondifferentiable_outputs,
        tolerance=declared.tolerance,
        allow=declared.allow,
        forward_where=_where(layer, "forward"),
        backward_where=_where(layer, "backward"),
        cases_where=declared.cases_where or (location_of(cases) if cases is not None else None),
    )
    example = {key: _array_or(value) for key, value in given[0].items()}
    return replace(made, second=second_of(made, runner, example))


def _first(cases: Iterable[Any], count: int = 8) -> list[Any]:
    return [case for case, _ in zip(cases, range(count))]


def _where(layer: type, name: str) -> Location | None:
    found = location_of(getattr(layer, name))
    return found if found is None else Location(shown_path(found.file), found.line, 0, f"{layer.__name__}.{name}")


def _named(parameters: Parameters, case: Sequence[Any] | Mapping[str, Any], layer: type) -> dict[str, Any]:
    if not isinstance(case, Mapping):
        return parameters.bind(list(case), {})
    unknown = [name for name in case if name not in parameters.names]
    if unknown and not parameters.takes_any:
        raise UsageError(
            f"a case of {layer.__name__} names {unknown[0]!r}; forward takes {', '.join(parameters.names) or 'nothing'}"
        )
    return dict(case)


def _drawn(
    cases: Callable[[np.random.Generator], Iterable[Any]], parameters: Parameters, layer: type
) -> Callable[[np.random.Generator], Iterator[Mapping[str, Any]]]:
    def drawn(rng: np.random.Generator) -> Iterator[Mapping[str, Any]]:
        for case in cases(rng):
            yield {key: _array_or(value) for key, value in _named(parameters, case, layer).items()}

    return drawn


def _array_or(value: Any) -> Any:
    """Return Tensors and numpy scalars as arrays, lists of them as lists of arrays, and all else as it is."""
    if isinstance(value, Tensor):
        return value._data
    if isinstance(value, np.generic):
        return np.asarray(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, (Tensor, np.ndarray)) for item in value):
        return [_array_or(item) for item in value]
    return value


def _is_array(value: Any) -> bool:
    value = _array_or(value)
    return isinstance(value, np.ndarray) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, np.ndarray) for item in value)
    )


def _is_float(name: str, given: Sequence[Mapping[str, Any]]) -> bool:
    for case in given:
        value = _array_or(case.get(name))
        items = value if isinstance(value, list) else [value]
        if any(isinstance(item, np.ndarray) and item.dtype.kind == "f" for item in items):
            return True
    return False


def _inputs(parameters: Parameters, given: Sequence[Mapping[str, Any]]) -> list[str]:
    extra = [name for case in given for name in case if name not in parameters.names]
    names = dict.fromkeys((*parameters.names, *extra))
    return [name for name in names if any(_is_array(case.get(name)) for case in given)]


def _attrs(parameters: Parameters, given: Sequence[Mapping[str, Any]], inputs: Sequence[str]) -> tuple[Attr, ...]:
    names = dict.fromkeys((*parameters.names, *(name for case in given for name in case)))
    found: list[Attr] = []
    for name in names:
        if name in inputs or name == parameters.starred:
            continue
        values = [case[name] for case in given if name in case]
        if values or name in parameters.defaults:
            found.append(Attr(name, "any", parameters.defaults.get(name, values[0] if values else None)))
    return tuple(found)


def _arg(name: str, given: Sequence[Mapping[str, Any]]) -> Arg:
    is_list = any(isinstance(_array_or(case.get(name)), list) for case in given)
    is_optional = any(not _is_array(case.get(name)) for case in given)
    return Arg(name, is_optional=is_optional, is_variadic=is_list)


def _case(values: Mapping[str, Any], inputs: Sequence[str]) -> Case:
    arrays = {name: _array_or(values.get(name)) for name in inputs}
    attrs = {name: value for name, value in values.items() if name not in inputs}
    return Case(arrays, attrs, "recorded", origin="recorded", label="seen in the run")


def _surrogate(function: Callable[..., Any], runner: _Runner) -> Callable[..., Any]:
    """Return a declared function as a forward: it takes forward's arguments as Tensors, without ctx."""

    def forward(arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        args, kwargs = runner.arguments(arrays, attrs, takes_gradient=False)
        return [tensor._data for tensor in tensors_in(function(*args, **kwargs))]

    return forward


def tensors_in(result: Any) -> list[Tensor]:
    """Return the Tensors of what a forward returned: bare, in a tuple or list, or in a list in that."""
    found: list[Tensor] = []
    for item in result if isinstance(result, (list, tuple)) else [result]:
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, (list, tuple)) and all(isinstance(member, Tensor) for member in item):
            found.extend(item)
    return found


class _Runner:
    """Runs a PyLayer on arrays.

    Args:
        layer: the class.
        parameters: of its forward.
        inputs: the parameters that take arrays.
        constants: those of them that take no gradient.
    """

    def __init__(self, layer: type, parameters: Parameters, inputs: frozenset[str], constants: frozenset[str]) -> None:
        self._parameters = parameters
        self._inputs = inputs
        self._constants = constants
        self._raw: list[Any] = []
        self._layer = _listening(layer, self._raw)

    def arguments(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any], *, takes_gradient: bool
    ) -> tuple[list[Any], dict[str, Any]]:
        """Return forward's arguments, arrays as Tensors."""
        values: dict[str, Any] = {}
        for name in dict.fromkeys((*self._parameters.names, *arrays, *attrs)):
            value = arrays.get(name) if name in self._inputs else attrs.get(name)
            if name in self._inputs and value is not None:
                is_leaf = takes_gradient and name not in self._constants
                values[name] = _tensors(value, is_leaf)
            elif name not in self._inputs and name in attrs:
                values[name] = value
        return self._parameters.call(values)

    def count_outputs(self, values: Mapping[str, Any]) -> int:
        """Return how many Tensors forward returns for arguments by name; 1 where it raises (the checks tell that)."""
        arrays = {name: _array_or(values.get(name)) for name in self._inputs}
        attrs = {name: value for name, value in values.items() if name not in self._inputs}
        try:
            return len(self.forward(arrays, attrs))
        except Exception:
            return 1

    def forward(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> list[np.ndarray]:
        """Run forward; see ``opkit.checker.Forward``."""
        args, kwargs = self.arguments(arrays, attrs, takes_gradient=False)
        return [tensor._data for tensor in tensors_in(self._layer.apply(*args, **kwargs))]  # type: ignore[attr-defined]

    def applied(self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]) -> tuple[list[Tensor], Mapping[str, Tensor]]:
        """Return the outputs of one application, and the leaf of each input that is a single array."""
        args, kwargs = self.arguments(arrays, attrs, takes_gradient=True)
        outputs = tensors_in(self._layer.apply(*args, **kwargs))  # type: ignore[attr-defined]
        named = self._parameters.bind(args, kwargs)
        return outputs, {name: value for name, value in named.items() if isinstance(value, Tensor)}

    def vjp(
        self, arrays: Mapping[str, Any], attrs: Mapping[str, Any]
    ) -> tuple[list[np.ndarray], Callable[[Sequence[np.ndarray], frozenset[str]], dict[str, Any]]]:
        """Run forward and keep its context for any number of backward calls."""
        args, kwargs = self.arguments(arrays, attrs, takes_gradient=True)
        outputs = tensors_in(self._layer.apply(*args, **kwargs))  # type: ignore[attr-defined]
        slots = _slots(self._parameters.bind(args, kwargs))

        def pullback(douts: Sequence[np.ndarray], needs: frozenset[str]) -> dict[str, Any]:
            leaves = [leaf for _, items in slots for leaf in items if not leaf._sg]
            self._raw.clear()
            seeds = [wrap(dout) for dout in douts]
            found = grad(outputs, leaves, seeds, retain_graph=True, allow_unused=True)
            by_leaf = {id(leaf): None if item is None else item._data for leaf, item in zip(leaves, found)}
            return self._by_name(slots, by_leaf, arrays, needs)

        return [tensor._data for tensor in outputs], pullback

    def _by_name(
        self,
        slots: Sequence[tuple[str, list[Tensor]]],
        found: Mapping[int, Any],
        arrays: Mapping[str, Any],
        needs: frozenset[str],
    ) -> dict[str, Any]:
        """Return gradients by input, as backward itself returned them where that can be told."""
        raw = _raw_slots(self._raw[-1], len(slots)) if self._raw else None
        result: dict[str, Any] = {}
        for position, (name, leaves) in enumerate(slots):
            if name not in needs:
                continue
            values = [found.get(id(leaf)) for leaf in leaves]
            given = None if raw is None else raw[position]
            if given is not None and len(given) == len(values):
                values = [value if own is None else own for own, value in zip(given, values)]
            result[name] = values if isinstance(arrays[name], (list, tuple)) else values[0]
        return result


def _tensors(value: Any, is_leaf: bool) -> Any:
    if isinstance(value, (list, tuple)):
        return [_tensors(item, is_leaf) for item in value]
    return wrap(value, stop_gradient=not (is_leaf and value.dtype.kind == "f"))


def _slots(values: Mapping[str, Any]) -> list[tuple[str, list[Tensor]]]:
    """Return the gradient slots of a call in its order: (parameter, its Tensors)."""
    slots: list[tuple[str, list[Tensor]]] = []
    for name, value in values.items():
        if isinstance(value, Tensor):
            slots.append((name, [value]))
        elif isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
            slots.append((name, [item for item in value if isinstance(item, Tensor)]))
    return slots


def _raw_slots(result: Any, count: int) -> list[list[Any] | None] | None:
    """Return the arrays that backward returned, by slot; None where they do not line up with the slots."""
    items = list(result) if isinstance(result, (list, tuple)) and count != 1 else [result]
    if count == 1 and isinstance(result, (list, tuple)) and len(result) == 1:
        items = list(result)
    if len(items) != count:
        return None
    return [
        [item._data]
        if isinstance(item, Tensor)
        else ([part._data for part in tensors_in(item)] if isinstance(item, (list, tuple)) else None)
        for item in items
    ]


def _listening(layer: type, heard: list[Any]) -> type:
    """Return a subclass whose backward is the user's, and that keeps what it returns."""
    backward = layer.backward  # type: ignore[attr-defined]

    def listening(ctx: Any, *douts: Any) -> Any:
        result = backward(ctx, *douts)
        heard.append(result)
        return result

    return type(layer.__name__, (layer,), {"backward": staticmethod(listening), "__module__": layer.__module__})
