"""``oneflow.experimental.nn``: modules of dynamic mode (v0.4)."""

from __future__ import annotations

from opkit.oneflow.experimental.nn import activations, init, layers, losses, module
from opkit.oneflow.experimental.nn.activations import *  # noqa: F403 - the names of its __all__
from opkit.oneflow.experimental.nn.layers import *  # noqa: F403
from opkit.oneflow.experimental.nn.losses import *  # noqa: F403
from opkit.oneflow.experimental.nn.module import *  # noqa: F403
from opkit.shim.missing import guard

__all__ = ["init"]
__all__ += activations.__all__ + module.__all__ + layers.__all__ + losses.__all__

__getattr__ = guard("flow.experimental.nn", __all__)
