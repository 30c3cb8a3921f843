"""A checkable from any pair of numpy functions: a forward and its gradient, with the inputs to check them on.

No framework takes part.
"""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType
from typing import Any

import numpy as np

from opkit.checker import Arg, Arrays, Attrs, Checkable
from opkit.errors import Location, UsageError
from opkit.verify.isolation.blame import shown_path

__all__ = ["cases_of", "location_of", "pair"]

#: First parameters of a backward that takes the incoming gradients before the inputs.
_DOUTS = frozenset({"dy", "dout", "douts", "g", "gy", "grad", "grad_output", "grad_y", "cotangent", "upstream"})


def location_of(function: Any) -> Location | None:
    """Return where a function or a class was written, None where that is not known."""
    function = inspect.unwrap(getattr(function, "__func__", function))
    code = getattr(function, "__code__", None)
    if code is not None:
        return Location(shown_path(code.co_filename), _def_line(code), function=function.__name__)
    try:
        _, line = inspect.getsourcelines(function)
        file = inspect.getsourcefile(function)
    except (TypeError, OSError):
        return None
    return Location(shown_path(file), line, function=getattr(function, "__name__", "")) if file else None


def _def_line(code: CodeType) -> int:
    """Return the line of a function's ``def``, beneath its decorators."""
    line = code.co_firstlineno
    while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
        line += 1
    return line


def pair(
    forward: Callable[..., Any],
    backward: Callable[..., Any],
    inputs: Sequence[Any] | Mapping[str, Any] | None = None,
    cases: Callable[[np.random.Generator], Iterable[Sequence[Any] | Mapping[str, Any]]] | None = None,
    name: str = "",
) -> Checkable:
    """Make a checkable of two functions.

    Args:
        forward: ``forward(*inputs)`` -> an array, or a tuple or list of arrays.
        backward: ``backward(*inputs, *douts)`` or ``backward(*inputs, *outputs, *douts)``, by the number of its
            parameters; with the incoming gradients first where its first parameter says so by its name (``dy``,
            ``g``, ``grad`` ...). Returns one gradient per input (None for an input without one), or one per float
            input.
        inputs: what to check on: arrays by position or by parameter name. Only float arrays are differentiated.
            A list of tuples or of dicts is a list of cases.
        cases: in place of ``inputs``: ``cases(rng)`` yields as many of them as it likes.
        name: what the report calls the op; the function's name by default.

    Raises:
        UsageError: neither or both of inputs and cases, or parameters that fit neither signature.
    """
    if (inputs is None) == (cases is None):
        raise UsageError("gradcheck of a function pair takes inputs=[...], or cases=function of a generator")
    draw = cases if cases is not None else (lambda _: cases_of(inputs))
    probe = next(iter(draw(np.random.default_rng(0))), None)
    if probe is None:
        raise UsageError("the cases function yields no case")
    names = _names(forward, probe)
    count = len(_listed(forward(*_values(probe, names))))
    call = _backward_call(backward, len(names), count)

    def run(arrays: Arrays, attrs: Attrs) -> Sequence[np.ndarray]:
        return _listed(forward(*(arrays[name] for name in names)))

    def run_back(
        arrays: Arrays,
        outputs: Sequence[np.ndarray],
        douts: Sequence[np.ndarray],
        attrs: Attrs,
        needs: frozenset[str],
    ) -> Mapping[str, Any]:
        found = _listed(call([arrays[name] for name in names], list(outputs), list(douts)))
        floats = [name for name in names if np.asarray(arrays[name]).dtype.kind == "f"]
        if len(found) == len(floats):
            return {name: gradient for name, gradient in zip(floats, found) if name in needs}
        if len(found) != len(names):
            raise UsageError(f"backward returned {len(found)} gradients for {len(names)} inputs ({', '.join(names)})")
        return {name: gradient for name, gradient in zip(names, found) if name in needs}

    def draw_named(rng: np.random.Generator) -> Iterable[Mapping[str, Any]]:
        for case in draw(rng):
            yield {name: np.asarray(value) for name, value in zip(names, _values(case, names))}

    return Checkable(
        name=name or getattr(forward, "__qualname__", "forward").replace("<locals>.", ""),
        inputs=tuple(Arg(item) for item in names),
        outputs=tuple(Arg(item) for item in (["y"] if count == 1 else [f"y{index}" for index in range(count)])),
        forward=run,
        backward=run_back,
        cases=draw_named,
        forward_where=location_of(forward),
        backward_where=location_of(backward),
    )


def cases_of(inputs: Any) -> Sequence[Any]:
    """Return inputs as a list of cases: what holds tuples or dicts is one already."""
    is_several = (
        isinstance(inputs, (list, tuple)) and bool(inputs) and all(isinstance(i, (tuple, dict)) for i in inputs)
    )
    return inputs if is_several else [inputs]


def _names(forward: Callable[..., Any], probe: Sequence[Any] | Mapping[str, Any]) -> list[str]:
    if isinstance(probe, Mapping):
        return list(probe)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    try:
        known = [item.name for item in inspect.signature(forward).parameters.values() if item.kind in kinds]
    except (TypeError, ValueError):
        known = []
    return [known[index] if index < len(known) else f"x{index}" for index in range(len(probe))]


def _values(case: Sequence[Any] | Mapping[str, Any], names: Sequence[str]) -> list[np.ndarray]:
    given = [case[name] for name in names] if isinstance(case, Mapping) else list(case)
    return [np.asarray(value) for value in given]


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def _backward_call(
    backward: Callable[..., Any], inputs: int, outputs: int
) -> Callable[[list[Any], list[Any], list[Any]], Any]:
    """Return how to call a backward: (inputs, outputs, douts) -> its result."""
    try:
        parameters = list(inspect.signature(backward).parameters.values())
    except (TypeError, ValueError):
        return lambda xs, _, dys: backward(*xs, *dys)
    if any(item.kind is item.VAR_POSITIONAL for item in parameters):
        return lambda xs, _, dys: backward(*xs, *dys)
    positional = [
        item for item in parameters if item.kind is not item.KEYWORD_ONLY and item.kind is not item.VAR_KEYWORD
    ]
    required = [item for item in positional if item.default is item.empty]
    is_first = bool(positional) and positional[0].name.lower() in _DOUTS
    for ys in (0, outputs):
        wanted = inputs + outputs + ys
        if len(required) <= wanted <= len(positional):
            return _order(backward, is_first, bool(ys))
    raise UsageError(
        f"backward takes {len(required)} arguments; expected {inputs + outputs} (inputs, then incoming gradients) "
        f"or {inputs + 2 * outputs} (inputs, outputs, incoming gradients)"
    )


def _order(
    backward: Callable[..., Any], is_first: bool, takes_outputs: bool
) -> Callable[[list[Any], list[Any], list[Any]], Any]:
    def call(xs: list[Any], ys: list[Any], dys: list[Any]) -> Any:
        values = [*xs, *ys] if takes_outputs else xs
        return backward(*dys, *values) if is_first else backward(*values, *dys)

    return call
