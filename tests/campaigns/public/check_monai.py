"""Swish, and guided back-propagation: what is left of a ReLU's gradient where it is positive."""

from monai.networks.blocks.activation import SwishImplementation  # noqa: F401
from monai.visualize.gradient_based import _AutoGradReLU  # noqa: F401


def cases_SwishImplementation(rng):
    yield {"input": 3 * rng.standard_normal((3, 5))}


def cases__AutoGradReLU(rng):
    yield {"x": rng.standard_normal((3, 5))}
