"""``paddle.optimizer.lr``: schedules of the learning rate."""

from opkit.paddle.optimizer.cycles import CosineAnnealingDecay, CyclicLR, OneCycleLR, ReduceOnPlateau
from opkit.paddle.optimizer.decays import (
    ExponentialDecay,
    InverseTimeDecay,
    LambdaDecay,
    LinearWarmup,
    MultiplicativeDecay,
    MultiStepDecay,
    NaturalExpDecay,
    NoamDecay,
    PiecewiseDecay,
    PolynomialDecay,
    StepDecay,
)
from opkit.paddle.optimizer.scheduler import LRScheduler
from opkit.shim.missing import guard

__all__ = [
    "CosineAnnealingDecay",
    "CyclicLR",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LRScheduler",
    "LambdaDecay",
    "LinearWarmup",
    "MultiStepDecay",
    "MultiplicativeDecay",
    "NaturalExpDecay",
    "NoamDecay",
    "OneCycleLR",
    "PiecewiseDecay",
    "PolynomialDecay",
    "ReduceOnPlateau",
    "StepDecay",
]

__getattr__ = guard(globals())
