"""``paddle.fluid.optimizer``: optimizers by their older names."""

from opkit.paddle.missing import guard
from opkit.paddle.optimizer import SGD, Adagrad, Adam, Momentum, RMSProp

SGDOptimizer = SGD
AdamOptimizer = Adam
AdagradOptimizer = Adagrad
MomentumOptimizer = Momentum
RMSPropOptimizer = RMSProp

__all__ = [
    "SGD",
    "Adagrad",
    "AdagradOptimizer",
    "Adam",
    "AdamOptimizer",
    "Momentum",
    "MomentumOptimizer",
    "RMSProp",
    "RMSPropOptimizer",
    "SGDOptimizer",
]

__getattr__ = guard(__name__, globals())
