"""Call: what a process that looks like an ordinary run is asked to call, and what it answers.

Plain data, which travels between processes; nothing is called here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np

from opkit.record import entity, record

#: What the random numbers of a framework start from at every call of forward, and one more at every call of backward.
RANDOM_SEED = 20130917


class Kind(Enum):
    """What a function is, and so how an ordinary run calls it."""

    LAYER = "a PyLayer"
    OP = "an op of an op directory"
    TORCH = "a custom function or library op of torch"
    JAX = "a function of JAX"


class Manner(Enum):
    """How a turn calls the steps; the value ends a sentence about what it gave."""

    FRESH = ""
    REFILLED = ", after its arrays were filled again with other values"
    INFERENCE = ", where nothing takes a gradient"
    RECORDED = ", where the way back is recorded itself (create_graph)"
    BESIDE = ", in another thread"
    LATER = ", at another time of day and year"


@record
class Origin:
    """Where an ordinary process finds a function.

    Args:
        kind: what it is.
        path: its file, or its op directory.
        name: in the file (``Outer.Inner``), or of the op type.
        kernel: which kernels of an op directory run: "python" or "cpp".
        folder: where its file imports from first.
    """

    kind: Kind
    path: str
    name: str
    kernel: str = "python"
    folder: str = ""


@record
class Leaf:
    """The place of an array among the arguments of a call.

    Args:
        number: among the arrays of the call.
        takes_gradient: whether its gradient is wanted.
    """

    number: int
    takes_gradient: bool


@entity
class Form:
    """The arguments of calls that differ in their arrays alone, each array replaced by a leaf.

    Args:
        args: by position.
        kwargs: by name; for an op {argument: leaf or list of leaves}.
        attrs: for an op, its attributes.
        leaves: in order.
        spare: how many of ``args``, at their end, are options at their defaults, which may be left out.
    """

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    attrs: Mapping[str, Any]
    leaves: tuple[Leaf, ...]
    spare: int = 0


@record
class Step:
    """One turn of a training loop: a call, and the way back.

    Args:
        form: of the call.
        arrays: one for each leaf.
        douts: an incoming gradient per output; none where there is no way back.
    """

    form: Form
    arrays: Sequence[np.ndarray]
    douts: Sequence[np.ndarray]


@record
class Taken:
    """What a step gave.

    Args:
        outputs: the results.
        gradients: one for each leaf that takes one, None where there is none.
    """

    outputs: Sequence[np.ndarray]
    gradients: Sequence[np.ndarray | None]


@record
class Request:
    """What a process is asked to do: all steps in order, once in each manner (a few of them in most).

    Args:
        steps: see above.
    """

    steps: Sequence[Step]


@record
class Answers:
    """What came of a request.

    Args:
        turns: what the steps gave, each time that they were gone through.
        raised: what a step raised, "" for nothing; nothing was called after it.
        unloaded: what kept the function from being called at all, "" for nothing.
        changed: names of Python's and numpy's functions that are not what they were.
    """

    turns: Sequence[Sequence[Taken]] = ()
    raised: str = ""
    unloaded: str = ""
    changed: Sequence[str] = ()


def filled(value: Any, arrays: Sequence[Any]) -> Any:
    """Return arguments with the leaves replaced by what stands for their arrays."""
    if isinstance(value, Leaf):
        return arrays[value.number]
    if type(value) in (list, tuple):
        return type(value)(filled(item, arrays) for item in value)
    if type(value) is dict:
        return {name: filled(item, arrays) for name, item in value.items()}
    return value
