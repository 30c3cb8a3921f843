"""Methods of Paddle's Tensor that opkit does not have: using one is an error that says so.

A class attribute costs nothing unless it is used; a ``__getattr__`` would slow down every attribute.
"""

from __future__ import annotations

from typing import Any, NoReturn

from opkit.errors import MissingNameError, unknown

#: Names that Paddle 2.6's Tensor has.
_NAMES = """
    angle as_complex as_real atleast_3d block cauchy_ cholesky_solve coalesce cols combinations conj corrcoef cov
    create_parameter create_tensor crows cummax cummin diagflat diagonal_scatter dist_attr exponential_
    fill_diagonal_tensor fill_diagonal_tensor_ frexp gcd gcd_ geometric_ get_map_tensor get_selected_rows grad_
    grad_fn householder_product hypot hypot_ i0 i0_ i0e i1 i1e imag index_fill index_fill_ indices is_selected_rows
    is_sparse_coo is_sparse_csr istft layout lcm lcm_ ldexp ldexp_ logaddexp logit logit_ lstsq lu lu_unpack
    multi_dot multigammaln multigammaln_ multiplex nanmedian nanquantile nansum nextafter nnz num_shard offset
    pca_lowrank placements polar polygamma polygamma_ process_mesh real reconstruct_from_ renorm renorm_ rot90 rows
    select_scatter set_string_list set_vocab sgn shard_index stanh stft to_dense to_sparse_coo to_sparse_csr
    top_p_sampling values vander vsplit
"""
UNSUPPORTED = tuple(_NAMES.split())


class _Missing:
    """Stands on a class for a method that is not there: getting it raises, assigning to an instance works."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> NoReturn:
        known = [name for name in dir(owner) if not name.startswith("_") and name not in UNSUPPORTED]
        tail = " (Paddle 2.6 has it)"
        raise unknown("opkit has no", self.name, known, tail=tail, prefix="Tensor.", limit=3).error(MissingNameError)


def _listed(self: Any) -> list[str]:
    """Return the names of what is there."""
    missing = {name for name in UNSUPPORTED if isinstance(vars(type(self)).get(name), _Missing)}
    return [name for name in object.__dir__(self) if name not in missing]


def install_unsupported(kind: type) -> None:
    """Make every Paddle method that a class of values lacks raise an error that says so."""
    for name in UNSUPPORTED:
        if not any(name in vars(base) for base in kind.__mro__):
            setattr(kind, name, _Missing(name))
    kind.__dir__ = _listed  # type: ignore[assignment]
