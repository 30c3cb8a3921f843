"""The recorder of JAX: keeps what functions with rules of their own are called with, under transformations too.

Within jit and grad the arguments are tracers; a callback then keeps the values when the compiled program runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.extend import core

from opkit.verify.subjects.jax.arrays import is_array, learn_trees, plain
from opkit.verify.subjects.jax.function import is_custom
from opkit.verify.subjects.parameters import parameters_in
from opkit.verify.subjects.recording import Recording, Traits, signature_of

_Tracer = jax.core.Tracer if hasattr(jax.core, "Tracer") else core.Tracer


@contextmanager
def recording() -> Iterator[Recording]:
    """Record calls until the end; the recording is given at once and fills."""
    heard = Recording()
    originals = {kind: kind.__call__ for kind in (jax.custom_vjp, jax.custom_jvp)}
    busy: set[int] = set()

    def listening(call: Any) -> Any:
        def called(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not is_custom(self) or id(self) in busy:
                return call(self, *args, **kwargs)
            busy.add(id(self))  # the rule's own fwd calls the function again
            try:
                _hear(heard, self, args, kwargs)
                return call(self, *args, **kwargs)
            finally:
                busy.discard(id(self))

        return called

    for kind, call in originals.items():
        kind.__call__ = listening(call)
    try:
        yield heard
    finally:
        for kind, call in originals.items():
            kind.__call__ = call
        jax.effects_barrier()


def _hear(heard: Recording, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    try:
        values = parameters_in(function.fun).bind(list(args), dict(kwargs))
    except (TypeError, ValueError):
        return
    leaves, tree = jax.tree.flatten(values, is_leaf=lambda item: item is None)
    places = [number for number, leaf in enumerate(leaves) if is_array(leaf) or isinstance(leaf, _Tracer)]
    if not places:
        return
    keep = partial(_keep, heard, function, tree, leaves, places)
    if any(isinstance(leaves[place], _Tracer) for place in places):
        heard.calls.setdefault(function, {})
        jax.debug.callback(keep, *(leaves[place] for place in places))
    else:
        keep(*(leaves[place] for place in places))


def _keep(
    heard: Recording, function: Any, tree: Any, leaves: Sequence[Any], places: Sequence[int], *arrays: Any
) -> None:
    filled = list(leaves)
    for place, array in zip(places, arrays):
        filled[place] = np.array(array)
    values = jax.tree.unflatten(tree, filled)
    learn_trees(function, values)
    kept = {name: plain(value) for name, value in values.items()}
    heard.hear(function, Traits(), signature_of(kept), lambda: kept)
