"""The functions that are also methods of tensors, one table for Tensor and Variable, and what only a Tensor has.

Methods of Paddle's Tensor that opkit does not have: using one is an error that says so.

A class attribute costs nothing unless it is used; a ``__getattr__`` would slow down every attribute.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from opkit.eager import Tensor
from opkit.eager.methods import clear_gradient
from opkit.eager.tensor import TensorFlagError
from opkit.errors import DtypeError, MissingNameError, unknown
from opkit.ir import adopt, canonical_dtype
from opkit.paddle.framework.place import CPUPlace, NoDeviceError
from opkit.paddle.semantics import builders as ops
from opkit.paddle.semantics.dialect import PADDLE
from opkit.paddle.semantics.dtypes import LOD_TENSOR
from opkit.paddle.semantics.scope_tensor import tensor_of
from opkit.paddle.tensor import (
    attribute,
    decomposition,
    inplace,
    layout,
    linalg,
    logic,
    manipulation,
    math,
    random,
    search,
    selection,
    stat,
)
from opkit.paddle.tensor.creation import clone, diag, tril, triu

__all__ = [
    "METHODS",
    "install",
    "install_tensor",
]


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


_FROM_LISTS = (
    attribute,
    decomposition,
    layout,
    linalg,
    logic,
    manipulation,
    math,
    search,
    selection,
    stat,
)
_NOT_METHODS = {
    "BINARY", "COMPARISONS", "UNARY", "crop", "det", "eigh", "einsum", "finfo", "iinfo", "inv", "logspace",
    "searchsorted", "shape", "slogdet", "svd", "tolist", "triangular_solve",

}  # fmt: skip


def _table() -> dict[str, Any]:
    table: dict[str, Any] = {**math.UNARY, **math.BINARY, **logic.COMPARISONS}
    for module in _FROM_LISTS:
        for name in module.__all__:
            if name not in _NOT_METHODS:
                table[name] = getattr(module, name)
    table.update(clone=clone, diag=diag, tril=tril, triu=triu, astype=_astype, dim=_ndim, ndimension=_ndim)
    table.update(multinomial=random.multinomial)
    return table


def _astype(x: Any, dtype: Any) -> Any:
    """Return x in another dtype, always as a new tensor."""
    return manipulation.cast(x, dtype)


def _ndim(x: Any) -> int:
    """Return the number of axes."""
    return len(x.shape)


#: Method name -> function of the tensor and the other arguments.
METHODS: dict[str, Any] = _table()


def install(kind: type) -> None:
    """Give a class of values Paddle's methods."""
    for name, function in METHODS.items():
        setattr(kind, name, function)
    kind.T = property(_transposed)  # type: ignore[attr-defined]


def _transposed(x: Any) -> Any:
    """Return x with its axes in reverse order."""
    return ops.transpose(x)


# ---- what only a Tensor has ------------------------------------------------------------------------------------------
def _to(x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """Return x in another dtype; opkit knows no other device than the CPU."""
    dtype = kwargs.get("dtype")
    for item in (*args, kwargs.get("device"), kwargs.get("other")):
        if isinstance(item, Tensor):
            dtype = item._data.dtype
        elif item is None or isinstance(item, (bool, CPUPlace)):
            continue
        elif isinstance(item, str) and item.split(":")[0] in ("cpu", "gpu", "xpu"):
            if not item.startswith("cpu"):
                _no_device(item)
        else:
            dtype = item
    return x if dtype is None else manipulation.cast(x, _dtype_or_device(dtype))


def _dtype_or_device(item: Any) -> str:
    try:
        return canonical_dtype(item)
    except TypeError:
        raise DtypeError(f"Tensor.to takes a device ('cpu') or a dtype, got {item!r}") from None


def _no_device(name: str) -> None:
    raise NoDeviceError(f"opkit runs on the CPU only, there is no device {name!r}")


def _cuda(x: Tensor, *args: Any, **kwargs: Any) -> None:
    """Refuse: opkit runs on the CPU only."""
    _no_device("gpu")


def _detach_in_place(x: Tensor) -> Tensor:
    """Cut x out of the graph, in place."""
    x._node, x._index, x._sg = None, 0, True
    return x


def _place(x: Tensor) -> CPUPlace:
    """Where the data lives."""
    return CPUPlace()


def _trainable(x: Tensor) -> bool:
    """Whether an optimizer changes this parameter."""
    return not x._sg


def _set_trainable(x: Tensor, value: bool) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise TensorFlagError(f"trainable takes a bool, got {type(value).__name__} {value!r}")
    x.stop_gradient = not value


def _self(x: Tensor, *args: Any) -> Tensor:
    """Return x itself."""
    return x


def _strides(x: Tensor) -> list[int]:
    return [step // x._data.itemsize for step in x._data.strides]


def _new_data(x: Tensor, value: Tensor) -> None:
    x._data = value._data


_TENSOR_ONLY: dict[str, Any] = {
    "to": _to,
    "cpu": _self,
    "value": _self,
    "contiguous": _self,
    "cuda": _cuda,
    "_zero_grads": clear_gradient,
    "detach_": _detach_in_place,
    "fill_": inplace.fill_,
    "zero_": inplace.zero_,
    "copy_": inplace.copy_,
    "fill_diagonal_": inplace.fill_diagonal_,
    "normal_": random.normal_,
    "uniform_": random.uniform_,
    "place": property(_place),
    "trainable": property(_trainable, _set_trainable),
    "data": property(lambda x: x.detach(), _new_data, doc="A Tensor on the same memory that takes no gradient."),
    "is_contiguous": lambda x: bool(x._data.flags.c_contiguous),
    "get_strides": _strides,
    "strides": property(_strides, doc="The distances between neighbours along each axis, in elements."),
    "is_dense": lambda x: True,
    "is_sparse": lambda x: False,
    "is_dist": lambda x: False,
    "is_same_shape": lambda x, other: list(x.shape) == list(other.shape),
    "data_ptr": lambda x: x._data.ctypes.data,
    "pin_memory": _self,
    "element_size": lambda x: x._data.itemsize,
    "get_tensor": tensor_of,
    "type": LOD_TENSOR,
    "_inplace_version": lambda x: x.inplace_version,
    "_grad_ivar": lambda x: x.grad,
    "_is_initialized": lambda x: True,
}


def install_tensor() -> None:
    """Make Tensor Paddle's: its rules and words, its methods, the in-place ones among them."""
    adopt(PADDLE)
    install(Tensor)
    for name, function in {**inplace.INPLACE, **_TENSOR_ONLY}.items():
        setattr(Tensor, name, function)
    install_unsupported(Tensor)
