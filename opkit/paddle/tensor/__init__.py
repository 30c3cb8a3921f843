"""``paddle.tensor``: the functions on tensors."""

from opkit.paddle.missing import guard
from opkit.paddle.tensor import creation, linalg, logic, manipulation, math, methods, random, search
from opkit.paddle.tensor.creation import *  # noqa: F403
from opkit.paddle.tensor.inplace import INPLACE
from opkit.paddle.tensor.linalg import *  # noqa: F403
from opkit.paddle.tensor.logic import *  # noqa: F403
from opkit.paddle.tensor.manipulation import *  # noqa: F403
from opkit.paddle.tensor.math import *  # noqa: F403
from opkit.paddle.tensor.random import *  # noqa: F403
from opkit.paddle.tensor.search import *  # noqa: F403

methods.install_tensor()

globals().update(math.UNARY)
globals().update(math.BINARY)
globals().update(logic.COMPARISONS)
globals().update({name: function for name, function in INPLACE.items() if name != "scatter_"})

#: Everything that is also ``paddle.NAME``.
NAMES = tuple(
    dict.fromkeys(
        [
            *creation.__all__,
            *linalg.__all__,
            *logic.COMPARISONS,
            *(name for name in logic.__all__ if name != "COMPARISONS"),
            *manipulation.__all__,
            *math.UNARY,
            *math.BINARY,
            *(name for name in math.__all__ if name not in ("UNARY", "BINARY")),
            *random.__all__,
            *search.__all__,
            *INPLACE,
        ]
    )
)
globals()["scatter_"] = INPLACE["scatter_"]

__all__ = ["creation", "linalg", "logic", "manipulation", "math", "methods", "random", "search", *NAMES]

__getattr__ = guard(__name__, globals())
