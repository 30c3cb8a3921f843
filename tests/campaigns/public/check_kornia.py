"""A log-softmax at a label."""

from kornia.losses.focal import _TargetLogSoftmax  # noqa: F401


def cases(rng):
    for shape in [(2, 3, 4), (3, 5, 2)]:
        target = rng.integers(shape[1], size=(shape[0], 1, shape[2]))
        yield {"pred": rng.standard_normal(shape), "target": target, "valid": None}
        yield {"pred": rng.standard_normal(shape), "target": target, "valid": rng.uniform(size=target.shape) > 0.3}
