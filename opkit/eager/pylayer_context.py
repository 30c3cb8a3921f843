"""PyLayerContext: what a PyLayer's forward and backward share; it is also the step of the reverse walk.

All names that opkit needs on it start with ``walk_``: every other name belongs to the user.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any
from weakref import ref

from numpy import ndarray

from opkit.eager.pylayer_records import GeneralRecord, Saved, SavedItems, SavedOutput, SingleRecord
from opkit.eager.saved_hooks import Packed, pack, packing
from opkit.eager.tensor import Tensor, wrap
from opkit.errors import UsageError

_new = object.__new__
_OUTPUT = Saved.OUTPUT  # read for every gradient: an Enum's member is slow to look up


class Marks:
    """What forward declared about its inputs and outputs through ``ctx.mark_...`` and ``ctx.set_...``."""

    __slots__ = ("materialize", "non_differentiable", "not_inplace")

    def __init__(self) -> None:
        self.materialize = True
        self.not_inplace: tuple[Any, ...] = ()
        self.non_differentiable: tuple[Any, ...] = ()


class PyLayerContext:
    """Carries tensors and free attributes from a PyLayer's forward to its backward.

    Source: Paddle 2.6, paddle.autograd.PyLayerContext.
    """

    __slots__ = (
        "__dict__",
        "__weakref__",
        "walk_array",
        "walk_edges",
        "walk_marks",
        "walk_output",
        "walk_record",
        "walk_rule",
        "walk_saved",
    )

    walk_edges: tuple[Any, ...] | None
    walk_marks: Marks | None
    walk_record: SingleRecord | GeneralRecord
    walk_rule: Any
    #: None until something is saved, then the tuple of what was. When forward is over: Saved, the tuple, or SavedItems
    #: where outputs or packed values are among its items.
    walk_saved: tuple[Any, ...] | Saved | SavedItems | None
    #: With Saved.OUTPUT, by far the commonest: the output and its data.
    walk_output: ref[Tensor]
    walk_array: ndarray
    walk_indices: tuple[int, ...] = (0,)
    walk_width: int = 1
    opdef: Any

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors for backward. Only in forward, and once: of two calls the last counts, with a warning.

        Args:
            tensors: inputs, outputs or anything else that ``saved_tensor`` returns later.

        Raises:
            UsageError: forward is over.

        Source: Paddle 2.6 replaces what was saved, in silence.
        """
        if self.walk_saved is not None:
            self._saved_before()
        self.walk_saved = tensors
        if packing.depth:
            self.walk_saved = tuple(pack(item) if isinstance(item, Tensor) else item for item in tensors)

    def saved_tensor(self) -> Any:
        """Return what ``save_for_backward`` was given, as a tuple; None where it was not called."""
        saved = self.walk_saved
        if saved is _OUTPUT:
            tensor = self.walk_output()
            if tensor is None:
                # The output died; backward sees a Tensor on the same data and the same place in the graph.
                tensor = _new(Tensor)
                tensor._data = self.walk_array
                tensor._sg = False
                tensor._node = self
                tensor._index = 0
            return (tensor,)
        if type(saved) is tuple:
            return saved
        if type(saved) is SavedItems:
            return tuple(map(self._restored, saved.items))
        return None

    def mark_not_inplace(self, *args: Any) -> None:
        """Say that these inputs, returned by forward, stand for new Tensors and not for an in-place change."""
        self._marks().not_inplace = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say that these outputs take no gradient; backward receives zeros for them."""
        self._marks().non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Choose whether the gradient of an unused output arrives in backward as zeros (True) or as None."""
        if not isinstance(value, bool):
            raise UsageError(f"set_materialize_grads takes a bool, got {type(value).__name__} {value!r}")
        self._marks().materialize = value

    def watch_output(self, index: int, cell: list[int]) -> None:
        """In-place changes of a saved output are visible to backward and not counted.

        Source: Paddle 2.6.
        """

    def keep_saved(self, outputs: Sequence[Any]) -> None:
        """End the saving; what is one of the outputs is from now on held weakly.

        Args:
            outputs: forward's output Tensors, recorded.
        """
        saved = self.walk_saved
        if saved is None:
            self.walk_saved = Saved.NOTHING
        if type(saved) is not tuple:
            return
        mine = {id(output) for output in outputs if output._node is self}
        if not any(id(item) in mine or type(item) is Packed for item in saved):
            return
        self.walk_saved = SavedItems(
            tuple(SavedOutput(ref(item), item._data, item._index) if id(item) in mine else item for item in saved)
        )

    def walk_release(self) -> None:
        """Drop the way back to the inputs, now that the walk has passed for the last time.

        What was saved stays and can be read after backward; but computed Tensors among it no longer hold the graph they
        came from: keeping an op's output does not keep everything that led to it.

        Source: Paddle 2.6 for what can be read after backward.
        """
        self.walk_edges = None
        saved = self.walk_saved
        if type(saved) is tuple:
            self.walk_saved = tuple(map(_cut, saved))
        elif type(saved) is SavedItems:
            self.walk_saved = SavedItems(tuple(map(_cut, saved.items)))

    def _restored(self, item: Any) -> Any:
        if type(item) is Packed:
            return item.unpack()
        return item.restored(self) if type(item) is SavedOutput else item

    def _marks(self) -> Marks:
        if self.walk_marks is None:
            self.walk_marks = Marks()
        return self.walk_marks

    def _saved_before(self) -> None:
        name = type(self).__name__.removesuffix("_backward")
        if hasattr(self, "walk_rule"):
            raise UsageError(
                f"PyLayer {name}: save_for_backward was called after forward had ended; only forward may call it",
                help="keep other values as attributes of ctx",
            )
        warnings.warn(
            f"PyLayer {name}: save_for_backward was called twice in one forward, and the last call counts; to keep "
            "all tensors pass them in one: ctx.save_for_backward(a, b)",
            stacklevel=3,
        )


def _cut(item: Any) -> Any:
    """Return a Tensor on the same data without the graph; anything else as it is."""
    if not isinstance(item, Tensor) or item._node is None:
        return item
    alias = wrap(item._data, item._sg)
    alias._version = item._version
    return alias
