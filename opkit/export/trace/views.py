"""Views: how an array that shares another's memory follows it, and how what is written to it reaches the other.

A view is known by its path, the node that made it of its base.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opkit.export.trace.graph import Node, Scalar, UntraceableError
from opkit.export.trace.recorder import example

_REGULAR = {"reshape", "ravel", "expand_dims", "squeeze", "atleast_1d", "atleast_2d"}
VIEWS = _REGULAR | {"getitem", "transpose", "swapaxes", "moveaxis", "diagonal", "broadcast_to", "flip"}


def again(path: Node, base: Node) -> Node:
    """Return the node of a view of its base as that is now."""
    rest = path.args[1:]
    if path.function == "getitem":
        value = np.asarray(base.value)[example(rest[0])]
    else:
        kwargs = {key: example(item) for key, item in path.kwargs.items()}
        value = getattr(np, path.function)(base.value, *[example(item) for item in rest], **kwargs)
    return Node(path.function, (base, *rest), value, path.kwargs)


def written(path: Node, base: Node, value: Node) -> Node:
    """Return the node of a base after a value was written to the whole of a view.

    Raises:
        UntraceableError: views of that kind are not written through.
    """
    name, rest = path.function, path.args[1:]
    if name == "getitem":
        changed = np.array(base.value)
        changed[example(rest[0])] = value.value
        return Node("setitem", (base, rest[0], value), changed)
    if name in _REGULAR:
        shape = Scalar("shape", (base,), np.shape(base.value))
        return Node("reshape", (value, shape), np.reshape(value.value, shape.value))
    args: tuple[Any, ...] | None = None
    if name in ("swapaxes", "flip") or (name == "transpose" and not rest and not path.kwargs):
        args = rest
    elif name == "moveaxis":
        args = rest[::-1]
    elif name == "transpose" and rest and all(isinstance(item, int) for item in rest[0]):
        args = (tuple(int(item) for item in np.argsort(rest[0])),)
    if args is None or path.kwargs:
        raise UntraceableError(f"writes through a view that np.{name} gives")
    found = getattr(np, name)(value.value, *[example(item) for item in args])
    return Node(name, (value, *args), found)
