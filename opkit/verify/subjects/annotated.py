"""Annotated: functions whose signatures say the shapes of arrays, such as ``x: Float[Array, "n d"]``.

Read as text, so that nothing need be installed. What is annotated so takes no other shape, as if forward raised.
"""

from __future__ import annotations

import ast
import builtins
import typing
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from opkit.checker import Arrays, Attrs, Checkable
from opkit.checker.model.dimensions import Axis, Dimensions, axes_in
from opkit.errors import UsageError
from opkit.ir import Shape
from opkit.verify.subjects.remembered import remembered
from opkit.verify.subjects.subject import Subject


def dimensions_in(annotations: Mapping[str, Any]) -> Dimensions:
    """Return the axes that annotations of parameters declare.

    Example:
        >>> list(dimensions_in({"x": 'Float[Array, "n d"]', "eps": "float"}).axes)
        ['x']
    """
    found = {name: _axes(annotation) for name, annotation in annotations.items()}
    return Dimensions({name: axes for name, axes in found.items() if axes is not None})


def with_shapes(subject: Subject, shapes: Mapping[str, Shape]) -> Subject:
    """Return a subject with shapes that were given by hand, as if its parameters were annotated with them."""
    known = subject.parameters
    said = {name: f"Annotated[Array, {' '.join(map(str, shape))!r}]" for name, shape in shapes.items()}
    return replace(subject, parameters=replace(known, annotations={**known.annotations, **said}))


def _axes(annotation: Any) -> tuple[Axis, ...] | None:
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if "[" not in text:  # Annotated and Optional tell their arguments in another way than classes do
        text = str(annotation)
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple) and not _is_generic(node.value):
            base, *rest = node.slice.elts
            said = [one.value for one in rest if isinstance(one, ast.Constant) and isinstance(one.value, str)]
            if said and not hasattr(builtins, ast.unparse(base)):
                return axes_in(said[0])
    return None


def _is_generic(called: ast.expr) -> bool:
    """Return whether what is subscripted is one of Python's own, whose arguments are types: Literal, Union, dict."""
    name = ast.unparse(called).rpartition(".")[2]
    return name != "Annotated" and (hasattr(typing, name) or hasattr(builtins, name))


def shaped(made: Checkable, annotations: Mapping[str, Any]) -> Checkable:
    """Return a checkable that takes the shapes alone that annotations declare; itself where they declare none."""
    known = dimensions_in(annotations).axes
    axes = {arg.name: known[arg.name] for arg in made.inputs if arg.name in known and not arg.is_variadic}
    if not axes:
        return made
    dimensions = Dimensions(axes)
    seen: dict[tuple[Any, ...], bool] = {}

    def only(run: Any) -> Any:
        def call(arrays: Arrays, attrs: Attrs) -> Any:
            given = {name: arrays.get(name) for name in axes}
            shapes = {name: value.shape for name, value in given.items() if isinstance(value, np.ndarray)}
            key = tuple(shapes.items())
            if not remembered(seen, key, partial(dimensions.fit, shapes)):
                raise UsageError(f"the annotations declare other shapes than {shapes}")
            return run(arrays, attrs)

        return call

    return replace(made, dimensions=dimensions, forward=only(made.forward), vjp=made.vjp and only(made.vjp))
