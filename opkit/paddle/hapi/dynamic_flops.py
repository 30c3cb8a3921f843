"""``flops``: how many multiplications a network's layers take, by rules per kind of layer, seen while it runs once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opkit.errors import UsageError
from opkit.ops.core.types import Function
from opkit.paddle import nn
from opkit.paddle.hapi.model_summary import run_watched
from opkit.paddle.semantics import builders as ops
from opkit.record import mutable
from opkit.shim.missing import guard

__all__ = ["flops"]


# ---- rules: the layer, its first input and its output -> operations --------------------------------------------------
def _of_convolution(layer: Any, x: Any, y: Any) -> int:
    per_element = x.shape[1] / layer.groups * np.prod(layer.weight.shape[2:]) + (layer.bias is not None)
    return int(y.size * per_element)


def _of_pool(layer: Any, x: Any, y: Any) -> int:
    return int(y.size)


def _of_adaptive_pool(layer: Any, x: Any, y: Any) -> int:
    window = np.array(x.shape[2:]) // np.array(y.shape[2:])
    return int((np.prod(window) + 1) * y.size)


_RULES: dict[type, Callable[[Any, Any, Any], int]] = {
    **dict.fromkeys(
        (nn.Conv1D, nn.Conv2D, nn.Conv3D, nn.Conv1DTranspose, nn.Conv2DTranspose, nn.Conv3DTranspose), _of_convolution
    ),
    **dict.fromkeys((nn.BatchNorm2D, nn.BatchNorm), lambda layer, x, y: 2 * int(x.size)),
    **dict.fromkeys((nn.ReLU, nn.ReLU6, nn.Dropout), lambda layer, x, y: 0),
    nn.LeakyReLU: lambda layer, x, y: int(x.size),
    nn.Linear: lambda layer, x, y: int(layer.weight.shape[0] * y.size),
    **dict.fromkeys((nn.AvgPool1D, nn.AvgPool2D, nn.AvgPool3D), _of_pool),
    **dict.fromkeys((nn.AdaptiveAvgPool1D, nn.AdaptiveAvgPool2D, nn.AdaptiveAvgPool3D), _of_adaptive_pool),
}


@mutable
class _Row:
    """What was seen of one layer."""

    taken: list[int]
    given: list[int]
    parameters: int
    operations: int = 0


def flops(
    net: Any, input_size: Any, custom_ops: Mapping[type, Function] | None = None, print_detail: bool = False
) -> int:
    """Print and return how many operations a network takes; layers without a rule count as 0, and are named.

    Args:
        net: a Layer; it runs once, in evaluation mode, without gradients.
        input_size: the shape of its input.
        custom_ops: kind of layer -> a function of the layer, its inputs and its output that adds to
            ``layer.total_ops``.
        print_detail: print a table of the layers too.

    Raises:
        UsageError: it is not a Layer.

    Source: Paddle 2.6, paddle.flops.
    """
    if not isinstance(net, nn.Layer):
        raise UsageError(f"flops takes a Layer, got {type(net).__name__}")
    leaves = [layer for layer in net.sublayers(include_self=True) if not layer.sublayers()]
    rows = _watched(net, leaves, ops.normal(tuple(input_size), 0.0, 1.0, np.dtype(np.float32)), dict(custom_ops or {}))
    known = {*_RULES, *(custom_ops or {})}
    unknown = sorted({type(layer).__name__ for layer in leaves if type(layer) not in known})
    lines = [f"Cannot find suitable count function for {name}. Treat it as zero FLOPs." for name in unknown]
    if print_detail:
        lines += _table(rows)
    total, parameters = sum(row.operations for row in rows.values()), sum(row.parameters for row in rows.values())
    print("\n".join([*lines, f"Total Flops: {total}     Total Params: {parameters}"]))  # noqa: T201
    return total


def _watched(net: Any, leaves: list[Any], x: Any, own: dict[type, Function]) -> dict[str, _Row]:
    rows: dict[str, _Row] = {}

    def note(layer: Any, inputs: Any, output: Any) -> None:
        first = output[0] if isinstance(output, (list, tuple)) else output
        held = rows.get(layer.full_name())
        row = _Row(list(inputs[0].shape), list(first.shape), sum(item.size for item in layer.parameters()))
        row.operations = (held.operations if held else 0) + _counted(layer, inputs, output, own)
        rows[layer.full_name()] = row

    hooks = [layer.register_forward_post_hook(note) for layer in leaves]
    run_watched(net, [x], hooks)
    return rows


def _counted(layer: Any, inputs: Any, output: Any, own: dict[type, Function]) -> int:
    kind = type(layer)
    if kind in own:
        layer.total_ops = 0
        own[kind](layer, inputs, output)
        return int(layer.__dict__.pop("total_ops"))
    rule = _RULES.get(kind)
    return 0 if rule is None else abs(rule(layer, inputs[0], output))


def _table(rows: Mapping[str, _Row]) -> list[str]:
    cells = [("Layer Name", "Input Shape", "Output Shape", "Params", "Flops")]
    cells += [
        (name, str(row.taken), str(row.given), str(row.parameters), str(row.operations)) for name, row in rows.items()
    ]
    widths = [max(len(line[k]) for line in cells) + 2 for k in range(5)]
    rule = "+" + "+".join("-" * width for width in widths) + "+"
    lines = ["|" + "|".join(f"{text:^{width}}" for text, width in zip(line, widths)) + "|" for line in cells]
    return [rule, lines[0], rule, *lines[1:], rule]


__getattr__ = guard(globals())
