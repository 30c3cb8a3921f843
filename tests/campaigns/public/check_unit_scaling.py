"""A gradient of another scale."""

from unit_scaling.scale import _ScaledGrad  # noqa: F401


def cases(rng):
    yield {"X": rng.standard_normal((3, 4)), "fwd_scale": 0.5, "bwd_scale": 2.0}
