"""``flow.nn``: convolution, pooling, activations, normalisation, losses (OneFlow v0.4 names)."""

from __future__ import annotations

from opkit.oneflow.math import fused_scale_tril, tril
from opkit.oneflow.nn import activations, losses, normalization, windows
from opkit.oneflow.nn.activations import *  # noqa: F403 - the names of its __all__
from opkit.oneflow.nn.losses import *  # noqa: F403
from opkit.oneflow.nn.normalization import *  # noqa: F403
from opkit.oneflow.nn.windows import *  # noqa: F403
from opkit.shim.missing import guard

__all__ = ["fused_scale_tril", "tril"]
__all__ += activations.__all__ + losses.__all__ + normalization.__all__ + windows.__all__

__getattr__ = guard("flow.nn", __all__)
