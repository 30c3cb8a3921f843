"""A smooth step."""

from e3nn.math._soft_unit_step import _SoftUnitStep  # noqa: F401


def cases(rng):
    yield {"x": 2 * rng.standard_normal((4, 5))}
