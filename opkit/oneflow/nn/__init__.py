"""``flow.nn``: convolution, pooling, activations, normalisation, losses (OneFlow v0.4 names)."""

from __future__ import annotations

from typing import Any

from opkit.oneflow.math import fused_scale_tril, tril
from opkit.oneflow.nn import activations, losses, normalization, windows
from opkit.oneflow.nn.activations import *  # noqa: F403 - the names of its __all__
from opkit.oneflow.nn.losses import *  # noqa: F403
from opkit.oneflow.nn.normalization import *  # noqa: F403
from opkit.oneflow.nn.windows import *  # noqa: F403
from opkit.shim.missing import guard

__all__ = ["fused_scale_tril", "tril"]
__all__ += activations.__all__ + losses.__all__ + normalization.__all__ + windows.__all__

#: What v0.4 has of dynamic mode here, imported when it is first asked for.
_DYNAMIC = ("Embedding", "Module", "Parameter", "init")
_missing = guard("flow.nn", [*__all__, *_DYNAMIC])


def __getattr__(name: str) -> Any:
    if name in _DYNAMIC:
        from opkit.oneflow.experimental import nn as modules

        return getattr(modules, name)
    return _missing(name)
