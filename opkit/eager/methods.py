"""Methods of Tensors: operators, conversions to Python values, gradients, in-place changes.

The operators are the table that static Variables install too; methods with a framework's names are defined in
the facade.

numpy functions on Tensors: a ufunc goes through the op of its name and so keeps the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy import ndarray

from opkit import ops
from opkit.eager.backward import run_backward
from opkit.eager.grad_hooks import register_hook, retain_grads
from opkit.eager.inplace import set_item, set_value
from opkit.eager.tensor import Tensor, version_cell, wrap
from opkit.errors import AutogradError, ShapeError, UsageError
from opkit.ir import current_dialect
from opkit.ops.basis.creation import identity
from opkit.ops.core.mode import local
from opkit.ops.methods import BUILDERS, install_operators


class UfuncError(AutogradError, TypeError):
    """numpy was called in a way that would lose a gradient."""


#: ufuncs whose builder has their name.
_SAME = """
    add maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor
    sign exp expm1 log log2 log10 log1p sqrt square reciprocal sin cos tan sinh cosh tanh floor ceil trunc rint
"""

#: ufunc -> op builder. Where names differ from numpy's, the right-hand side is the same function of its arguments.
UFUNCS: dict[Any, Callable[..., Any]] = {
    **{getattr(np, name): BUILDERS[name] for name in _SAME.split()},
    np.subtract: BUILDERS["sub"],
    np.multiply: BUILDERS["mul"],
    np.true_divide: BUILDERS["div"],
    np.floor_divide: BUILDERS["floor_div"],
    np.remainder: BUILDERS["floor_mod"],
    np.negative: ops.neg,
    np.power: BUILDERS["pow"],
    np.float_power: BUILDERS["pow"],
    np.matmul: ops.matmul,
    np.logical_not: ops.logical_not,
    np.absolute: BUILDERS["abs"],
    np.fabs: BUILDERS["abs"],
    np.arcsin: BUILDERS["asin"],
    np.arccos: BUILDERS["acos"],
    np.arctan: BUILDERS["atan"],
    np.arcsinh: BUILDERS["asinh"],
    np.arccosh: BUILDERS["acosh"],
    np.arctanh: BUILDERS["atanh"],
    np.isnan: ops.isnan,
    np.isinf: ops.isinf,
    np.isfinite: ops.isfinite,
}


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Run a numpy ufunc on Tensors (numpy's ``__array_ufunc__`` protocol).

    Raises:
        UfuncError: the ufunc has no op, or was called in a way that ops do not support, and an input takes a gradient.
    """
    build = UFUNCS.get(ufunc) if method == "__call__" and not kwargs else None
    if build is not None:
        return build(*[ops.as_value(item) if isinstance(item, ndarray) else item for item in inputs])
    _refuse_lost_gradient(f"numpy.{ufunc.__name__}", inputs)
    plain = [np.asarray(item) if isinstance(item, Tensor) else item for item in inputs]
    out = kwargs.get("out")
    if out is not None and any(isinstance(item, Tensor) for item in out):
        raise UfuncError(f"numpy.{ufunc.__name__} cannot write into a Tensor (out=)")
    return getattr(ufunc, method)(*plain, **kwargs)


def _tensors(items: Any) -> Any:
    for item in items:
        if isinstance(item, Tensor):
            yield item
        elif type(item) in (list, tuple):
            yield from _tensors(item)


def _refuse_lost_gradient(name: str, items: Any) -> None:
    if local.mode.is_grad_enabled and any(not tensor._sg for tensor in _tensors(items)):
        raise UfuncError(
            f"{name} has no op in opkit, and its argument takes a gradient, which would be lost",
            help=current_dialect().words.keep_gradient,
        )


class SeedError(ShapeError, AssertionError):
    """``backward`` got a gradient that is not a Tensor of the right shape."""


class ScalarError(UsageError, AssertionError, TypeError):
    """A Tensor with several elements cannot become one Python value."""


def backward(self: Tensor, grad_tensor: Tensor | None = None, retain_graph: bool = False) -> None:
    """Compute the gradients of all leaves that this Tensor depends on, and add them to their ``grad``.

    Args:
        self: any shape.
        grad_tensor: the gradient of this Tensor, of its shape; ones where left out.
        retain_graph: keep the graph for another backward.

    Raises:
        SeedError: ``grad_tensor`` is not a Tensor, or has another shape.
        AutogradError: the graph was freed by an earlier backward.
    """
    if grad_tensor is not None:
        if not isinstance(grad_tensor, Tensor):
            raise SeedError(
                f"backward of {self.name!r}: grad_tensor must be a Tensor, got {type(grad_tensor).__name__}"
            )
        if grad_tensor._data.shape != self._data.shape:
            raise SeedError(
                f"backward of {self.name!r}: grad_tensor has shape {list(grad_tensor._data.shape)}, "
                f"the tensor has {list(self._data.shape)}"
            )
    run_backward([self], [grad_tensor], retain_graph=retain_graph)


def detach(self: Tensor) -> Tensor:
    """Return a Tensor on the same memory that takes no gradient."""
    alias = wrap(self._data)
    alias._version = version_cell(self)
    return alias


def clear_gradient(self: Tensor, set_to_zero: bool = True) -> None:
    """Fill ``grad``, where there is one, with zeros; without ``set_to_zero`` drop it."""
    held = self._grad
    if held is None:
        return
    if not set_to_zero:
        self._grad = None
        return
    if held._data.flags.writeable:
        held._data.fill(0)
    else:
        held._data = np.zeros_like(held._data)
    self._is_cleared = True


def gradient(self: Tensor) -> ndarray | None:
    """Return a copy of ``grad`` as an array, or None."""
    return None if self._grad is None else self._grad._data.copy()


def item(self: Tensor, *args: int) -> Any:
    """Return one element as a Python number.

    Args:
        self: any shape.
        args: nothing for a Tensor of one element; a position in the flattened data, or one index per axis.
    """
    try:
        return self._data.item(*args)
    except (ValueError, IndexError, TypeError) as error:
        raise ScalarError(f"item{args!r} of a tensor of shape {list(self._data.shape)}: {error}") from None


def _one(self: Tensor, what: str) -> Any:
    if self._data.size != 1:
        raise ScalarError(f"{what} needs a tensor of one element, this one has shape {list(self._data.shape)}")
    return self._data.reshape(-1)[0].item()


def _index(self: Tensor) -> int:
    if self._data.dtype.kind not in "biu":
        raise ScalarError(f"an index needs an integer tensor, this one is {self._data.dtype}")
    return int(_one(self, "an index"))


def _length(self: Tensor) -> int:
    if self._data.ndim == 0:
        raise ScalarError("len() of a tensor without axes")
    return len(self._data)


def _iterate(self: Tensor) -> Iterator[Tensor]:
    if self._data.ndim == 0:
        raise ScalarError("iteration over a tensor without axes")
    return (self[i] for i in range(len(self._data)))  # type: ignore[index]  # installed below


def _text(self: Tensor) -> str:
    return self.dialect.show_tensor(self)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    twin = wrap(self._data.copy(), self._sg)
    twin.__class__ = type(self)
    twin.__dict__.update(
        {
            name: value
            for name, value in self.__dict__.items()
            if name not in ("_version", "_hooks", "_grad", "_retains", "_is_cleared")
        }
    )
    if self._name is not None:
        twin._name = None
    memo[id(self)] = twin
    return twin


METHODS: dict[str, Callable[..., Any]] = {
    "backward": backward,
    "detach": detach,
    "clone": identity,
    "clear_gradient": clear_gradient,
    "clear_grad": clear_gradient,
    "gradient": gradient,
    "item": item,
    "tolist": lambda self: self._data.tolist(),
    "register_hook": register_hook,
    "retain_grads": retain_grads,
    "set_value": set_value,
    "__setitem__": set_item,
    "__array_ufunc__": array_ufunc,
    "__bool__": lambda self: bool(_one(self, "the truth of a tensor") > 0),
    "__float__": lambda self: float(_one(self, "float()")),
    "__int__": lambda self: int(_one(self, "int()")),
    "__complex__": lambda self: complex(_one(self, "complex()")),
    "__index__": _index,
    "__len__": _length,
    "__iter__": _iterate,
    "__repr__": _text,
    "__str__": _text,
    "__deepcopy__": _deepcopy,
}


def install_methods() -> None:
    """Attach the operators and methods to Tensor."""
    install_operators(Tensor)
    for name, function in METHODS.items():
        setattr(Tensor, name, function)
