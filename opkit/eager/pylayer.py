"""PyLayer: an op whose forward and backward are a user's Python functions.

This module handles one Tensor in, one Tensor out, the case that has to be quick. Everything else goes
through ``opkit.eager.pylayer_record`` (forward) and ``opkit.eager.pylayer_rule`` (backward).
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any
from weakref import ref

import numpy as np

from opkit.eager.pylayer_context import PyLayerContext
from opkit.eager.pylayer_faults import MissingBackwardError, MissingForwardError, note, pylayer_def, refuse_static
from opkit.eager.pylayer_record import record
from opkit.eager.pylayer_records import Saved, SingleRecord
from opkit.eager.pylayer_rule import checked_grads
from opkit.eager.tensor import Tensor
from opkit.ops.core.mode import ever, local
from opkit.ops.core.references import OF_ITEM

_new = object.__new__
_OUTPUT = Saved.OUTPUT


class PyLayer:
    """Base of ops written in Python: subclasses define ``forward`` and ``backward``, users call ``apply``.

    Source: Paddle 2.6, paddle.autograd.PyLayer.

    Example:
        >>> import numpy as np
        >>> class Double(PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         return Tensor(2 * x.numpy())
        ...     @staticmethod
        ...     def backward(ctx, dy):
        ...         return Tensor(2 * dy.numpy())
        >>> x = Tensor(np.ones(2), stop_gradient=False)
        >>> y = Double.apply(x)
        >>> y.stop_gradient, y.numpy()
        (False, array([2., 2.]))
    """

    _context: Any
    _single_rule: Any
    #: The record of the last simple application, which the next one of the same shape and dtype shares.
    _last_record = SingleRecord((), np.dtype(np.float32))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make an object whose only use is that ``A().apply`` works.

        Source: Paddle 2.6, which allows it.
        """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._context = _context_class(cls)

    @staticmethod
    def forward(ctx: Any, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; at least one must be a Tensor.

        Args:
            ctx: the PyLayerContext of this application.
            args: what ``apply`` was given.
            kwargs: what ``apply`` was given.
        """
        raise MissingForwardError("this PyLayer has no forward", help="define a static method forward(ctx, ...)")

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Compute the gradients of the Tensor inputs from those of the Tensor outputs.

        Args:
            ctx: the PyLayerContext that forward saw.
            args: one gradient per Tensor output.
        """
        raise MissingBackwardError("this PyLayer has no backward", help="define a static method backward(ctx, ...)")

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run forward, and record it where an input takes a gradient.

        Returns:
            What forward returned, its Tensors attached to the graph.

        Raises:
            PyLayerError: forward returned no Tensor, or a leaf that takes a gradient.
            MissingForwardError: the class has no forward.
        """
        mode = local.mode
        if ever.static and mode.is_static:
            refuse_static(cls)
        was_enabled = mode.is_grad_enabled
        ctx = cls._context()
        ctx.walk_saved = ctx.walk_marks = None
        mode.is_grad_enabled = False
        try:
            if kwargs or len(args) != 1 or mode.observers:
                mode.is_grad_enabled = was_enabled
                return record(cls, ctx, args, kwargs)
            x = args[0]
            result = cls.forward(ctx, x)
        except Exception as error:
            note(error, cls, "forward")
            raise
        finally:
            mode.is_grad_enabled = was_enabled
        if (
            type(result) is not Tensor
            or type(x) is not Tensor
            or x._sg
            or not was_enabled
            or ctx.walk_marks is not None
        ):
            return record(cls, ctx, args, kwargs, result)
        array = x._data
        data = result._data
        if data is array:
            return record(cls, ctx, args, kwargs, result)
        node = x._node
        if node is None:
            ctx.walk_edges = (x,)
        else:
            ctx.walk_edges = (node,)
            if x._index:
                ctx.walk_indices = (x._index,)
        ctx.walk_rule = cls._single_rule
        single = cls._last_record
        if single.shape != array.shape or single.dtype is not array.dtype:
            single = cls._last_record = SingleRecord(array.shape, array.dtype)
        ctx.walk_record = single
        result._sg = False
        result._node = ctx
        result._index = 0
        saved = ctx.walk_saved
        if saved is None:
            ctx.walk_saved = Saved.NOTHING
        elif len(saved) == 1 and saved[0] is result:
            ctx.walk_saved = _OUTPUT
            ctx.walk_output = ref(result)
            ctx.walk_array = data
        else:
            ctx.keep_saved((result,))
        return result


def _context_class(cls: type[PyLayer]) -> type[PyLayerContext]:
    """Return the class of a PyLayer's contexts, and give the PyLayer the rule of its simple applications."""
    kind: Any = type(f"{cls.__name__}_backward", (PyLayerContext,), {"__slots__": (), "__module__": cls.__module__})
    kind.opdef = pylayer_def(cls, cls.apply, lambda ctx, douts: ctx.walk_rule(ctx, douts, False))
    kind.walk_class = cls
    cls._single_rule = staticmethod(_make_single_rule(cls))
    return kind  # type: ignore[no-any-return]


def _make_single_rule(cls: type[PyLayer]) -> Callable[[Any, Any, bool], Any]:
    def single_rule(ctx: Any, douts: Any, release: bool) -> Any:
        dy = douts[0]
        if dy._sg:
            # Backward sees a gradient whose stop_gradient is False. Where only the walk holds it, it becomes so.
            if getrefcount(dy) > OF_ITEM:
                data = dy._data
                dy = _new(Tensor)
                dy._data = data
                dy._node = None
                dy._index = 0
            dy._sg = False
        try:
            result = cls.backward(ctx, dy)
        except Exception as error:
            note(error, cls, "backward")
            raise
        if type(result) is Tensor:
            data = result._data
            record = ctx.walk_record
            if data.shape == record.shape and data.dtype is record.dtype:
                if release:
                    if ctx.walk_saved is _OUTPUT:
                        ctx.walk_edges = None
                    else:
                        ctx.walk_release()
                return (result,)
        return checked_grads(ctx, result, release)

    return single_rule


PyLayer._context = _context_class(PyLayer)
