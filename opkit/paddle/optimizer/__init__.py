"""``paddle.optimizer``."""

from opkit.paddle.optimizer import lr
from opkit.paddle.optimizer.adam import Adam, Adamax, AdamW, Lamb
from opkit.paddle.optimizer.descent import SGD, Adadelta, Adagrad, Momentum, RMSProp
from opkit.paddle.optimizer.optimizer import Optimizer
from opkit.shim.missing import guard

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lamb", "Momentum", "Optimizer", "RMSProp", "lr"]

__getattr__ = guard(globals())
