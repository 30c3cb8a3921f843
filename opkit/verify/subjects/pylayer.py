"""A checkable from a PyLayer and its cases: which arguments are inputs, which are attributes, what takes a gradient.

Where the cases come from is the caller's business; the PyLayer is applied by its runner.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opkit.checker import Arg, Attr, Case, Checkable
from opkit.eager import PyLayer, Tensor, install
from opkit.errors import Location, UsageError
from opkit.ops import local
from opkit.verify.isolation.blame import shown_path
from opkit.verify.subjects.declared import Declared
from opkit.verify.subjects.neighbours import near
from opkit.verify.subjects.parameters import Parameters, annotations_of, parameters_of
from opkit.verify.subjects.places import location_of
from opkit.verify.subjects.recorder import Traits
from opkit.verify.subjects.runner import Runner, plain_arrays
from opkit.verify.subjects.second import second_of
from opkit.verify.subjects.subject import Subject


def is_layer(value: Any) -> bool:
    """Say whether a value is a PyLayer class that can be applied."""
    return isinstance(value, type) and issubclass(value, PyLayer) and value is not PyLayer


def dynamic_mode() -> None:
    """Go back to dynamic mode, whatever a user's file switched on when it was imported."""
    install()
    local.mode.is_static = False
    local.mode.is_grad_enabled = True


def layer_subject(layer: Any) -> Subject:
    """Return a PyLayer as a subject."""
    parameters = parameters_of(layer)

    def make(inputs: frozenset[str], constants: frozenset[str]) -> Runner:
        return Runner(layer, parameters, inputs, constants)

    return Subject(
        name=layer.__name__,
        parameters=parameters,
        annotations=annotations_of(layer.forward),
        make=make,
        plain=plain_arrays,
        takes_gradient=lambda value: not value.stop_gradient if isinstance(value, Tensor) else None,
        functions=(layer.forward, layer.backward),
        forward_where=location_of(layer.forward),
        backward_where=location_of(layer.backward),
        uses_misfits=True,
    )


def checkable_of_layer(
    layer: type,
    cases: Callable[[np.random.Generator], Iterable[Sequence[Any] | Mapping[str, Any]]] | None = None,
    *,
    recorded: Sequence[Mapping[str, Any]] = (),
    given: Sequence[Any] = (),
    traits: Traits | None = None,
    declared: Declared | None = None,
    name: str = "",
    is_twice: bool = False,
) -> Checkable:
    """Make a checkable of a PyLayer.

    Args:
        layer: the class.
        cases: yields forward's arguments, by name or in order; float arrays take a gradient, integer ones do not,
            other values pass through.
        recorded: arguments by name, as a run saw them, checked besides the cases; without cases what lies near them
            is searched.
        given: arguments by name or in order that count as recorded.
        traits: how a recorded run's Tensors stood in the graph.
        declared: exceptions that the file declares.
        name: what the report calls it.
        is_twice: whether the run asked for a gradient of its gradient.

    Raises:
        UsageError: there is no case, or a case does not fit forward's parameters.
    """
    parameters = parameters_of(layer)
    seen = [dict(case) for case in recorded] + [_named(parameters, case, layer) for case in given]
    drawn = [] if cases is None else [_named(parameters, one, layer) for one in _first(cases(np.random.default_rng(0)))]
    every = seen + drawn
    if not every:
        raise UsageError(f"there is no case for {layer.__name__}", where=location_of(cases) if cases else None)
    options = frozenset() if traits is None else traits.options
    inputs = [item for item in _inputs(parameters, every) if item not in options]
    attrs = _attrs(parameters, every, inputs)
    traits = traits or Traits(_constants(every, inputs))
    constants = frozenset() if traits.is_idle else traits.constants
    # What a run gave as a leaf works as the result of an op too; a case may be returned as it is, which a leaf may not.
    leaves = traits.leaves if cases is None else frozenset()
    runner = Runner(layer, parameters, frozenset(inputs), constants, leaves)
    declared = declared or Declared()
    outputs = runner.count_outputs(every[0])
    made = Checkable(
        name=name or layer.__qualname__.replace("<locals>.", ""),
        inputs=tuple(_arg(item, every) for item in inputs),
        outputs=tuple(Arg("y" if outputs == 1 else f"y{index}") for index in range(outputs)),
        forward=runner.forward,
        vjp=runner.vjp,
        attrs=attrs,
        cases=None if cases is None else _drawn(cases, parameters, layer),
        recorded=tuple(_case(item, inputs, bool(given)) for item in seen),
        gradients=frozenset(item for item in inputs if item not in constants and _is_float(item, every)),
        surrogate=None if declared.surrogate is None else runner.surrogate(declared.surrogate),
        nondifferentiable_outputs=declared.nondifferentiable_outputs,
        tolerance=declared.tolerance,
        allow=declared.allow,
        asks_second=declared.second_order or is_twice,
        is_beyond=traits.is_idle,
        forward_where=_where(layer, "forward"),
        backward_where=_where(layer, "backward"),
        cases_where=declared.cases_where or (location_of(cases) if cases is not None else None),
    )
    example = {key: plain_arrays(value) for key, value in every[0].items()}
    made = replace(made, second=second_of(made, runner, example))
    return made if cases is not None else near(made, [layer.forward, layer.backward], parameters.defaults)  # type: ignore[attr-defined]


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
            yield {key: plain_arrays(value) for key, value in _named(parameters, case, layer).items()}

    return drawn


def _is_array(value: Any) -> bool:
    value = plain_arrays(value)
    return isinstance(value, np.ndarray) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, np.ndarray) for item in value)
    )


def _is_float(name: str, given: Sequence[Mapping[str, Any]]) -> bool:
    for case in given:
        value = plain_arrays(case.get(name))
        items = value if isinstance(value, list) else [value]
        if any(isinstance(item, np.ndarray) and item.dtype.kind == "f" for item in items):
            return True
    return False


def _constants(given: Sequence[Mapping[str, Any]], inputs: Sequence[str]) -> frozenset[str]:
    """Return the inputs that every case gives as Tensors that take no gradient; none where that leaves nothing."""
    found = {
        name
        for name in inputs
        if _is_float(name, given) and all(_is_stopped(case[name]) for case in given if _is_array(case.get(name)))
    }
    return frozenset(found if any(name not in found and _is_float(name, given) for name in inputs) else ())


def _is_stopped(value: Any) -> bool:
    items = value if isinstance(value, (list, tuple)) else [value]
    return all(isinstance(item, Tensor) and item.stop_gradient for item in items)


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
    is_list = any(isinstance(plain_arrays(case.get(name)), list) for case in given)
    is_optional = any(not _is_array(case.get(name)) for case in given)
    return Arg(name, is_optional=is_optional, is_variadic=is_list)


def _case(values: Mapping[str, Any], inputs: Sequence[str], is_given: bool) -> Case:
    arrays = {name: plain_arrays(values.get(name)) for name in inputs}
    attrs = {name: value for name, value in values.items() if name not in inputs}
    if is_given:
        return Case(arrays, attrs, "given", origin="given", label="the inputs given")
    return Case(arrays, attrs, "recorded", origin="recorded", label="seen in the run")
