"""A job's signature: its arguments and results as annotated, checked calls and packed results (v0.4).

Nothing is traced or run here.
"""

from __future__ import annotations

import inspect
import math
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numpy import ndarray

from opkit.errors import DtypeError, Location, ShapeError, UsageError, unknown
from opkit.ir import TensorDesc, canonical_dtype
from opkit.oneflow.typing import Bundle, Callback, ListNumpy, ListOfNumpyDef, Numpy, OneflowNumpyDef
from opkit.ops.core.types import Function
from opkit.record import record

#: The annotation of a job that says nothing of what it returns.
UNANNOTATED: Any = inspect.Signature.empty


@record
class Leaf:
    """One array that a job takes.

    Args:
        path: how the caller names it: "x", or "x[1]" inside a tuple.
        desc: declared shape and dtype.
        is_list: it is fed as a list with one array, of at most as many elements.
    """

    path: str
    desc: TensorDesc
    is_list: bool


@record
class JobSignature:
    """What a job takes and gives.

    Args:
        name: the job's name.
        parameters: per parameter its name and a Leaf, or a tuple of such trees.
        returns: the return annotation, ``UNANNOTATED`` where there is none.
        where: where the job is defined.
        python: the function's own signature, for binding keyword arguments.
    """

    name: str
    parameters: tuple[tuple[str, Any], ...]
    returns: Any
    where: Location
    python: inspect.Signature

    @property
    def leaves(self) -> list[Leaf]:
        """All arrays that the job takes, in order."""
        return [leaf for _, tree in self.parameters for leaf in _leaves(tree)]

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any], devices: int = 0) -> list[Any]:
        """Return the arrays of a call, in the order of ``leaves``, checked against their placeholders.

        Args:
            args: as the job was called.
            kwargs: as the job was called.
            devices: of a job in the mirrored view on several: its leaves are lists with one array per device.

        Raises:
            UsageError: an argument is missing, unknown or not an array.
            ShapeError: an array's shape is not the declared one.
            DtypeError: an array's dtype is not the declared one.
        """
        if kwargs or len(args) != len(self.parameters):
            args = self._positional(args, kwargs)
        arrays: list[Any] = []
        for (_, tree), value in zip(self.parameters, args):
            self._collect(tree, value, arrays, devices)
        return arrays

    def _positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Return a call's arguments in the order of the parameters."""
        names = [name for name, _ in self.parameters]
        takes = f"it takes {', '.join(names) or 'none'}"
        for name in kwargs:
            if name not in names:
                said = unknown(f"job {self.name!r} has no argument", name, names, has="it takes")
                raise said.error(UsageError, self.where)
        try:
            return self.python.bind(*args, **kwargs).args
        except TypeError as problem:
            told = f"got {len(args)} arguments" if len(args) > len(names) else str(problem)
            raise UsageError(f"job {self.name!r}: {told} ({takes})", where=self.where) from None

    def _collect(self, tree: Any, value: Any, into: list[Any], devices: int) -> None:
        if isinstance(tree, Leaf):
            into.append(self._listed(tree, value, devices) if devices else self._checked(tree, value))
            return
        if not isinstance(value, (tuple, list)) or len(value) != len(tree):
            raise UsageError(f"job {self.name!r}: expected a tuple of {len(tree)} values, got {_shown(value)}")
        for part, item in zip(tree, value):
            self._collect(part, item, into, devices)

    def _listed(self, leaf: Leaf, value: Any, devices: int) -> list[ndarray]:
        """Return the arrays of a list with one per device."""
        if not isinstance(value, (list, tuple)) or len(value) != devices:
            raise UsageError(
                f"job {self.name!r}: argument {leaf.path!r} is a list with one array per device ({devices} here), "
                f"got {_shown(value)}",
                help=f"split the batch: numpy.split(batch, {devices})",
            )
        return [self._checked(leaf, [item]) for item in value]

    def _checked(self, leaf: Leaf, value: Any) -> ndarray:
        if leaf.is_list:
            if not isinstance(value, (list, tuple)) or len(value) != 1:
                raise UsageError(
                    f"job {self.name!r}: argument {leaf.path!r} is a ListNumpy: a list with one array per device "
                    f"(one here), got {_shown(value)}"
                )
            value = value[0]
        if not isinstance(value, ndarray):
            value = getattr(value, "_data", value)
        if not isinstance(value, ndarray):
            raise UsageError(
                f"job {self.name!r}: argument {leaf.path!r} is a numpy array of {leaf.desc}, got {_shown(value)}",
                help="pass numpy.array(..., dtype=...)",
            )
        self._check_array(leaf, value)
        return value

    def _check_array(self, leaf: Leaf, value: ndarray) -> None:
        declared = leaf.desc.shape
        fits = value.shape == declared or (
            leaf.is_list
            and value.ndim == len(declared)
            and value.size <= math.prod(declared)  # the buffer's size is what v0.4 asks for, not that of an axis
        )
        if not fits:
            raise ShapeError(
                f"job {self.name!r}: argument {leaf.path!r} has shape {value.shape}, its Placeholder "
                f"declares {declared}",
                where=self.where,
            )
        if value.dtype != leaf.desc.dtype and value.dtype.name != leaf.desc.dtype:  # a name takes its time
            raise DtypeError(
                f"job {self.name!r}: argument {leaf.path!r} has dtype {value.dtype}, its Placeholder declares "
                f"{leaf.desc.dtype}",
                where=self.where,
                help=f"convert it: {leaf.path}.astype(numpy.{leaf.desc.dtype})",
            )


def signature_of(function: Function) -> JobSignature:
    """Read the annotations of a job.

    Raises:
        UsageError: an annotation cannot be evaluated, or is not one that a job may have; names the parameter and line.
    """
    name = getattr(function, "__name__", "job")
    code = getattr(function, "__code__", None)
    where = Location(code.co_filename, code.co_firstlineno, function=name) if code else Location("<unknown>")
    python = inspect.signature(function)
    hints = _evaluated(function, python, name, where)
    parameters = []
    for parameter in python.parameters.values():
        tree = _parameter_tree(parameter, hints, name, where)
        parameters.append((parameter.name, tree))
    returns = hints.get("return", UNANNOTATED)
    _check_return(returns, name, where)
    return JobSignature(name, tuple(parameters), returns, where, python)


def _evaluated(function: Function, python: inspect.Signature, name: str, where: Location) -> dict[str, Any]:
    raw = dict(getattr(function, "__annotations__", {}))
    if not any(isinstance(item, str) for item in raw.values()):
        return raw
    closure = inspect.getclosurevars(function) if inspect.isfunction(function) else None
    scope = {**(closure.nonlocals if closure else {})}
    for key, item in raw.items():
        if isinstance(item, str):
            try:
                raw[key] = eval(item, getattr(function, "__globals__", {}), scope)
            except Exception as problem:
                raise UsageError(
                    f"job {name!r}: the annotation of {key!r} cannot be evaluated: {item} "
                    f"({type(problem).__name__}: {problem})",
                    where=where,
                    help="names used in a Placeholder must be visible where the job is defined; leave out "
                    "'from __future__ import annotations' where they are local",
                ) from problem
    return raw


def _parameter_tree(parameter: inspect.Parameter, hints: dict[str, Any], name: str, where: Location) -> Any:
    if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
        raise UsageError(f"job {name!r}: a job takes no *args, **kwargs or keyword-only parameters", where=where)
    annotation = hints.get(parameter.name, UNANNOTATED)
    if annotation is UNANNOTATED and isinstance(parameter.default, type):
        annotation = parameter.default
    if annotation is UNANNOTATED:
        raise UsageError(
            f"job {name!r}: parameter {parameter.name!r} has no annotation",
            where=where,
            help=f"write {parameter.name}: oneflow.typing.Numpy.Placeholder((sizes,), dtype=oneflow.float32)",
        )
    return _tree(annotation, parameter.name, name, where)


def _tree(annotation: Any, path: str, name: str, where: Location) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, OneflowNumpyDef):
        return Leaf(path, annotation.desc(), issubclass(annotation, ListOfNumpyDef))
    if typing.get_origin(annotation) is tuple and typing.get_args(annotation):
        return tuple(_tree(part, f"{path}[{i}]", name, where) for i, part in enumerate(typing.get_args(annotation)))
    raise UsageError(
        f"job {name!r}: parameter {path!r} is annotated {annotation!r}, which is not a Placeholder",
        where=where,
        help="use Numpy.Placeholder, ListNumpy.Placeholder, or Tuple[...] of them",
    )


def _leaves(tree: Any) -> Iterator[Leaf]:
    if isinstance(tree, Leaf):
        yield tree
    else:
        for part in tree:
            yield from _leaves(part)


def _check_return(annotation: Any, name: str, where: Location, *, is_outer: bool = True) -> None:
    if annotation is UNANNOTATED or annotation is None or annotation in (Numpy, ListNumpy):
        return
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Callback and is_outer and len(parts) == 1:
        _check_return(parts[0], name, where, is_outer=False)
    elif origin is Bundle and len(parts) == 1 and parts[0] in (Numpy, ListNumpy):
        return
    elif origin in (tuple, list, dict) and parts:
        for part in parts[1:] if origin is dict else parts:
            _check_return(part, name, where, is_outer=False)
    else:
        raise UsageError(
            f"job {name!r}: the return annotation {annotation!r} is not one that a job may have",
            where=where,
            help="use Numpy, ListNumpy, Tuple/List/Dict of them, Callback[T], Bundle[T] or None",
        )


def flatten(result: Any, job: str, is_blob: Callable[[Any], bool]) -> tuple[list[Any], Any]:
    """Split what a job's function returned into its blobs and the structure around them.

    Returns:
        the blobs in order, and a structure in which each blob is replaced by its index.

    Raises:
        UsageError: something in it is neither a blob nor a list, tuple or dict of blobs.
    """
    blobs: list[Any] = []

    def visit(item: Any) -> Any:
        if is_blob(item):
            blobs.append(item)
            return len(blobs) - 1
        if isinstance(item, (tuple, list)):
            return type(item)(visit(part) for part in item)
        if isinstance(item, dict):
            return {key: visit(part) for key, part in item.items()}
        if item is None:
            return None
        raise UsageError(
            f"job {job!r} returned {_shown(item)}, which is not a blob of the job",
            help="return blobs made from the job's arguments and variables, or lists, tuples and dicts of them",
        )

    return blobs, visit(result)


def rebuild(structure: Any, values: Sequence[Any], annotation: Any, job: str) -> Any:
    """Put results into the structure that the job returned, each as its annotation requires.

    Raises:
        UsageError: the structure is not what the annotation says.
    """
    if isinstance(structure, bool) or structure is None:
        if structure is None and annotation in (UNANNOTATED, None):
            return None
        raise UsageError(f"job {job!r} returned nothing, but its annotation says {annotation}")
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is UNANNOTATED or origin is Bundle:
        leaf = parts[0] if origin is Bundle else UNANNOTATED
        return _rebuild_freely(structure, values, leaf)
    if isinstance(structure, int):
        if annotation not in (Numpy, ListNumpy):
            raise UsageError(f"job {job!r} returned one blob, but its annotation says {annotation}")
        return _leaf_value(values[structure], annotation)
    return _rebuild_container(structure, values, annotation, job)


def _rebuild_container(structure: Any, values: Sequence[Any], annotation: Any, job: str) -> Any:
    origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is tuple and isinstance(structure, tuple):
        inner = [parts[0]] * len(structure) if len(parts) == 2 and parts[1] is Ellipsis else list(parts)
        if len(inner) == len(structure):
            return tuple(rebuild(part, values, hint, job) for part, hint in zip(structure, inner))
    elif origin is list and isinstance(structure, list):
        return [rebuild(part, values, parts[0], job) for part in structure]
    elif origin is dict and isinstance(structure, dict):
        return {key: rebuild(part, values, parts[1], job) for key, part in structure.items()}
    raise UsageError(
        f"job {job!r} returned a {type(structure).__name__} of {len(structure)} where its annotation says {annotation}"
    )


def _rebuild_freely(structure: Any, values: Sequence[Any], leaf: Any) -> Any:
    if isinstance(structure, int):
        return _leaf_value(values[structure], leaf)
    if isinstance(structure, dict):
        return {key: _rebuild_freely(part, values, leaf) for key, part in structure.items()}
    return type(structure)(_rebuild_freely(part, values, leaf) for part in structure)


def _leaf_value(value: Any, annotation: Any) -> Any:
    if isinstance(value, list):  # of the mirrored view: one array per device
        if annotation is Numpy:
            raise UsageError(
                f"a job in the mirrored view returns one array per device, {len(value)} here; its annotation is Numpy",
                help="annotate oneflow.typing.ListNumpy",
            )
        return value
    return [value] if annotation is ListNumpy else value


def _shown(value: Any) -> str:
    if isinstance(value, ndarray):
        return f"an array of {TensorDesc(value.shape, canonical_dtype(value.dtype))}"
    return f"{type(value).__name__} {value!r:.60}"
