"""Swish."""

from efficientnet_pytorch.utils import SwishImplementation  # noqa: F401


def cases(rng):
    yield {"i": 3 * rng.standard_normal((3, 5))}
