"""``oneflow.experimental.optim``: optimizers and schedules of dynamic mode (v0.4)."""

from __future__ import annotations

from opkit.oneflow.experimental.optim import lr_scheduler
from opkit.oneflow.experimental.optim.optimizers import SGD, Adam, AdamW, Optimizer, RMSprop
from opkit.shim.missing import guard

__all__ = ["SGD", "Adam", "AdamW", "Optimizer", "RMSprop", "lr_scheduler"]

__getattr__ = guard("flow.experimental.optim", __all__)
