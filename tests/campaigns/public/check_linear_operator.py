"""Products with a matrix that is rebuilt from its parts."""

from linear_operator.functions._matmul import Matmul  # noqa: F401
from linear_operator.operators import DenseLinearOperator, DiagLinearOperator
from torch import from_numpy


def cases(rng):
    dense = rng.standard_normal((4, 3))
    tree = DenseLinearOperator(from_numpy(dense)).representation_tree()
    yield {"representation_tree": tree, "rhs": rng.standard_normal((3, 2)), "matrix_args": [dense]}
    diagonal = rng.standard_normal(4)
    tree = DiagLinearOperator(from_numpy(diagonal)).representation_tree()
    yield {"representation_tree": tree, "rhs": rng.standard_normal((4, 2)), "matrix_args": [diagonal]}
