"""The inputs of swish's gradient check, with values of its attribute other than the default."""


def cases(rng):
    """Yield inputs and attributes by name; `rng` is seeded."""
    for beta in [1.0, 0.5, -2.0, 0.0]:
        yield {"x": rng.standard_normal((3, 4)), "beta": beta}
        yield {"x": rng.standard_normal(5).astype("float32"), "beta": beta}
