"""``paddle.linalg``: matrix products and norms."""

from opkit.paddle.missing import guard
from opkit.paddle.tensor.linalg import bmm, dist, dot, matmul, mm, mv, norm, outer

__all__ = ["bmm", "dist", "dot", "matmul", "mm", "mv", "norm", "outer"]

__getattr__ = guard(__name__, globals())
