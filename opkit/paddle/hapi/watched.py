"""Watched: a network run once, without gradients and as in inference, while hooks look on.

What hooks note is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opkit.eager import no_grad
from opkit.paddle.nn.layer.layers import Layer

__all__ = ["run_watched"]


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
