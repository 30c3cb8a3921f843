"""``paddle.tensor``: the functions on tensors."""

from opkit.paddle.tensor import (
    attribute,
    creation,
    decomposition,
    layout,
    linalg,
    logic,
    manipulation,
    math,
    methods,
    random,
    search,
    selection,
    stat,
)
from opkit.paddle.tensor.attribute import *  # noqa: F403
from opkit.paddle.tensor.creation import *  # noqa: F403
from opkit.paddle.tensor.decomposition import *  # noqa: F403
from opkit.paddle.tensor.inplace import INPLACE
from opkit.paddle.tensor.layout import *  # noqa: F403
from opkit.paddle.tensor.linalg import *  # noqa: F403
from opkit.paddle.tensor.logic import *  # noqa: F403
from opkit.paddle.tensor.manipulation import *  # noqa: F403
from opkit.paddle.tensor.math import *  # noqa: F403
from opkit.paddle.tensor.random import *  # noqa: F403
from opkit.paddle.tensor.search import *  # noqa: F403
from opkit.paddle.tensor.selection import *  # noqa: F403
from opkit.paddle.tensor.stat import *  # noqa: F403
from opkit.shim.missing import guard

methods.install_tensor()

globals().update(math.UNARY)
globals().update(math.BINARY)
globals().update(logic.COMPARISONS)
globals().update({name: function for name, function in INPLACE.items() if name != "scatter_"})

#: Functions that Paddle 2.6 has in ``paddle.linalg`` or as methods, and not as ``paddle.NAME``.
_NOT_AT_THE_TOP = {
    "cond", "det", "eig", "eigh", "eigvals", "eigvalsh",
    "fill_constant", "inv",
    "matrix_power", "pinv", "qr", "slogdet", "solve", "svd",
    "triangular_solve", "uniform_",
}  # fmt: skip

#: Everything that is also ``paddle.NAME``.
NAMES = tuple(
    name
    for name in dict.fromkeys(
        [
            *attribute.__all__,
            *creation.__all__,
            *decomposition.__all__,
            *layout.__all__,
            *linalg.__all__,
            *logic.COMPARISONS,
            *(name for name in logic.__all__ if name != "COMPARISONS"),
            *manipulation.__all__,
            *math.UNARY,
            *math.BINARY,
            *(name for name in math.__all__ if name not in ("UNARY", "BINARY")),
            *random.__all__,
            *search.__all__,
            *selection.__all__,
            *stat.__all__,
            *INPLACE,
        ]
    )
    if name not in _NOT_AT_THE_TOP
)
globals()["scatter_"] = INPLACE["scatter_"]

__all__ = [
    "creation",
    "linalg",
    "logic",
    "manipulation",
    "math",
    "methods",
    "random",
    "search",
    *NAMES,
]

__getattr__ = guard(globals())
