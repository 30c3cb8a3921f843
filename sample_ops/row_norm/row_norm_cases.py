"""The domain of row_norm: rows away from zero, where the length has a derivative."""

import numpy as np


def cases(rng):
    """Yield inputs by name; `rng` is seeded."""
    for shape in [(4,), (2, 3), (3, 1, 2)]:
        x = rng.uniform(0.5, 2.0, shape) * rng.choice([-1.0, 1.0], shape)
        yield {"x": x}
        yield {"x": x.astype(np.float32)}
