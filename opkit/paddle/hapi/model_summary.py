"""``summary``: the layers of a network with their shapes and parameters, seen while it runs once.

Watched: a network run once, without gradients and as in inference, while hooks look on.

What hooks note is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opkit.eager import no_grad
from opkit.errors import UnsupportedError, UsageError
from opkit.ops.core.mode import local
from opkit.paddle.nn.layer import LayerList, Sequential
from opkit.paddle.nn.layer.layers import Layer
from opkit.paddle.semantics import builders as ops
from opkit.paddle.static.input_spec import InputSpec
from opkit.record import record
from opkit.shim.missing import guard

__all__ = [
    "run_watched",
    "summary",
]


def run_watched(net: Layer, inputs: Sequence[Any], hooks: Sequence[Any]) -> None:
    """Run a network as in inference, then remove the hooks and put every layer back into its mode."""
    modes = [(layer, layer.training) for layer in net.sublayers(include_self=True)]
    net.eval()
    try:
        with no_grad():
            net(*inputs)
    finally:
        for layer, training in modes:
            object.__setattr__(layer, "training", training)
        for hook in hooks:
            hook.remove()


_MEGABYTE = 1024.0**2


@record
class _Row:
    """One layer: the shapes that went in and came out, and its own parameters."""

    name: str
    taken: Any
    given: Any
    parameters: int
    trainable: int


def summary(net: Any, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """Print the layers of a network with shapes and parameters, and return how many parameters there are.

    Args:
        net: a Layer; it runs once, in evaluation mode, without gradients.
        input_size: the shape of its input, an InputSpec, or a list with one per input; None or -1 counts as 1.
        dtypes: the inputs' dtype, or a list with one per input; float32 where left out.
        input: what the network is called with instead.

    Returns:
        ``{"total_params": n, "trainable_params": m}``, each layer's own parameters counted once.

    Raises:
        UsageError: there is neither a size nor an input, or a size is not positive.
        UnsupportedError: static mode is on.

    Source: Paddle 2.6, paddle.summary.
    """
    if local.mode.is_static:
        raise UnsupportedError("summary runs the network, which in static mode is built only")
    if input_size is None and input is None:
        raise UsageError("summary takes an input_size or an input, both are None")
    inputs = [input] if input is not None else _drawn(_sizes(input_size), dtypes)
    rows = _watched(net, inputs)
    total, trainable = sum(row.parameters for row in rows), sum(row.trainable for row in rows)
    text = _table(rows, _elements([_shape(item) for item in inputs]), total, trainable)
    print(text)  # noqa: T201
    return {"total_params": total, "trainable_params": trainable}


# ---- inputs ----------------------------------------------------------------------------------------------------------
def _sizes(given: Any) -> list[tuple[int, ...]]:
    if isinstance(given, InputSpec):
        given = tuple(given.shape)
    items = [given] if isinstance(given, (int, tuple)) else list(given)
    if isinstance(given, tuple) and any(isinstance(item, (tuple, list, InputSpec)) for item in given):
        items = list(given)
    elif isinstance(given, list) and all(item is None or isinstance(item, int) for item in given) and len(given) > 1:
        items = [tuple(given)]
    return [_size(item) for item in items]


def _size(item: Any) -> tuple[int, ...]:
    shape = tuple(item.shape) if isinstance(item, InputSpec) else (item,) if isinstance(item, int) else tuple(item)
    if sum(size in (None, -1) for size in shape) > 1:
        raise UsageError(f"summary: only the size of the batch may be None or -1, got {list(shape)}")
    sizes = tuple(1 if size in (None, -1) else int(size) for size in shape)
    if any(size <= 0 for size in sizes):
        raise UsageError(f"summary: sizes are positive, got {list(shape)}")
    return sizes


def _drawn(sizes: Sequence[tuple[int, ...]], dtypes: Any) -> list[Any]:
    kinds = list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes or "float32"] * len(sizes)
    if len(kinds) != len(sizes):
        raise UsageError(f"summary: {len(sizes)} inputs and {len(kinds)} dtypes")
    return [ops.cast(ops.uniform(size, 0.0, 1.0, np.dtype(np.float32)), kind) for size, kind in zip(sizes, kinds)]


# ---- one run ---------------------------------------------------------------------------------------------------------
def _watched(net: Any, inputs: Sequence[Any]) -> list[_Row]:
    """Run the network and return the layers that were called, each once, in the order of their first calls."""
    rows: dict[str, _Row] = {}

    def note(layer: Any, taken: Any, given: Any) -> None:
        count = layer.full_name().rpartition("_")[2]
        name = f"{type(layer).__name__}-{int(count) + 1 if count.isdecimal() else len(rows) + 1}"
        own = [item for item in layer._parameters.values() if item is not None]
        trainable = sum(item.size for item in own if not item.stop_gradient)
        rows[name] = _Row(name, _shape(taken), _shape(given), sum(item.size for item in own), trainable)

    layers = net.sublayers() or [net]
    hooks = [
        layer.register_forward_post_hook(note) for layer in layers if not isinstance(layer, (Sequential, LayerList))
    ]
    run_watched(net, inputs, hooks)
    return list(rows.values())


def _shape(item: Any) -> Any:
    if isinstance(item, (list, tuple)):
        return [_shape(part) for part in item]
    if isinstance(item, dict):
        return [_shape(part) for part in item.values()]
    return list(item.shape) if hasattr(item, "shape") else []


def _elements(shape: Any) -> int:
    """Return the number of elements of a shape, or of all shapes in a list."""
    if isinstance(shape, list) and shape and isinstance(shape[0], list):
        return sum(_elements(part) for part in shape)
    return int(np.prod(shape)) if shape else 0


# ---- the table -------------------------------------------------------------------------------------------------------
def _table(rows: Sequence[_Row], elements: int, total: int, trainable: int) -> str:
    cells = [("Layer (type)", "Input Shape", "Output Shape", "Param #")]
    cells += [(row.name, str(row.taken), str(row.given), f"{row.parameters:,}") for row in rows]
    widths = [max(least, *(len(line[k]) for line in cells)) for k, least in enumerate((15, 20, 20, 15))]
    lines = [" ".join(f"{text:^{width}}" for text, width in zip(line, widths)).rstrip() for line in cells]
    wide = sum(widths) + 5
    made = 2 * sum(_elements(row.given) for row in rows)  # forward, and backward as much again
    sizes = [elements * 4 / _MEGABYTE, made * 4 / _MEGABYTE, total * 4 / _MEGABYTE]
    return "\n".join(
        [
            "-" * wide,
            lines[0],
            "=" * wide,
            *lines[1:],
            "=" * wide,
            f"Total params: {total:,}",
            f"Trainable params: {trainable:,}",
            f"Non-trainable params: {total - trainable:,}",
            "-" * wide,
            f"Input size (MB): {sizes[0]:.2f}",
            f"Forward/backward pass size (MB): {sizes[1]:.2f}",
            f"Params size (MB): {sizes[2]:.2f}",
            f"Estimated Total Size (MB): {sum(sizes):.2f}",
            "-" * wide,
            "",
        ]
    )


__getattr__ = guard(globals())
