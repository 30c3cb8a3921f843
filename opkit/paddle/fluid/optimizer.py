"""``paddle.fluid.optimizer``: optimizers by their older names."""

from opkit.paddle.optimizer import SGD, Adagrad, Adam, Momentum, RMSProp
from opkit.shim.missing import guard

SGDOptimizer = SGD
AdamOptimizer = Adam
AdagradOptimizer = Adagrad
MomentumOptimizer = Momentum
RMSPropOptimizer = RMSProp

__getattr__ = guard(globals())
