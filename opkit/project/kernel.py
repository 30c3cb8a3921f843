"""UserKernel: a function of a kernel file bound to its op type, and the contract under which the runtime calls it.

What the contract promises about results comes from the op's infer function; nothing is inferred here.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Sequence
from os import getpid
from typing import Any

import numpy as np

from opkit.errors import KernelError, Location
from opkit.forked import end_if_forked
from opkit.ir import TensorDesc, to_numpy
from opkit.ops.core.types import Arrays, Attrs, Function
from opkit.record import record


@record
class ArgGroup:
    """One declared argument within a flat sequence of values.

    Args:
        name: the argument.
        start: index of its first value.
        count: how many values it has.
        is_variadic: the kernel receives (or returns) a list.
    """

    name: str
    start: int
    count: int
    is_variadic: bool = False


@record
class UserKernel:
    """A user's function as the kernel of an op type.

    Args:
        op: the op type.
        function: the function itself.
        takes_attrs: whether it gets the attributes as a second argument.
        where: file, line and name of the function.
    """

    op: str
    function: Function
    takes_attrs: bool
    where: Location

    def call(self, args: tuple[Any, ...], attrs: Attrs) -> Any:
        """Call the function and return exactly what it returns; nothing is copied, protected or checked.

        A copy of the process that the function forks and lets return ends here.
        """
        process = getpid()
        try:
            return self.function(args, dict(attrs)) if self.takes_attrs else self.function(args)
        finally:
            if getpid() != process:
                end_if_forked(process)


def positional_count(function: Function) -> int | None:
    """Return how many positional parameters a function has, None where that cannot be known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in kinds or parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters)


def guarded(
    kernel: UserKernel,
    inputs: Sequence[ArgGroup],
    outputs: Sequence[ArgGroup],
    attrs: Attrs,
    promise: Callable[[tuple[Any, ...]], Sequence[TensorDesc]],
    declared: Sequence[str] = (),
) -> Function:
    """Return the kernel as the runtime calls it: flat arrays in, one array or a tuple of them out.

    The function sees read-only views. What it returns is checked against the promise and never cast.

    Args:
        kernel: the user's function.
        inputs: the layout of the flat inputs.
        outputs: the layout of the flat outputs.
        attrs: what the kernel gets as attributes.
        promise: the output descriptions for one tuple of (shape, dtype) per input, None for one left out.
        declared: the names of all outputs, where optional ones are not requested: a kernel may return None or an
            array for those, or leave them out.

    Returns:
        ``run(*arrays, **attrs)``; its keyword arguments are ignored, since the op was bound to them already.
    """
    function, takes_attrs = kernel.function, kernel.takes_attrs
    if hasattr(function, "bound"):  # a C++ kernel computes into arrays that are made as they were promised
        return function.bound(inputs, outputs, attrs, promise)  # type: ignore[no-any-return]
    is_plain = all(slot.count == 1 and not slot.is_variadic for slot in inputs)
    promised: dict[tuple[Any, ...], list[tuple[tuple[int, ...], np.dtype]]] = {}
    is_single = len(outputs) == 1 and not outputs[0].is_variadic

    def run(*arrays: Any, **_: Any) -> Any:
        key = tuple([None if array is None else (array.shape, array.dtype) for array in arrays])
        expected = promised.get(key)
        if expected is None:
            if len(promised) > 256:
                promised.clear()
            expected = promised[key] = [(desc.shape, to_numpy(desc.dtype)) for desc in promise(key)]
        views = tuple([None if array is None else _read_only(array) for array in arrays])
        args = views if is_plain else _grouped(views, inputs)
        process = getpid()
        try:
            result = function(args, dict(attrs)) if takes_attrs else function(args)
        except Exception as error:
            if isinstance(error, ValueError) and "read-only" in str(error):
                help = "compute into a new array, or copy first: x = x.copy()"
                said = "writes to one of its arguments, which are read-only"
                raise _broken(kernel, said, help, _line_of(error, kernel)) from error
            _add_note(error, kernel, key, inputs, attrs)
            raise
        finally:
            if getpid() != process:
                end_if_forked(process)
        if is_single and type(result) is np.ndarray:
            shape, dtype = expected[0]
            if result.shape == shape and result.dtype == dtype:
                return result
        results = _results(_asked_for(result, outputs, declared), kernel, outputs)
        _compare(results, expected, kernel, outputs, len(args))
        return results[0] if is_single else tuple(results)

    return run


def _read_only(array: np.ndarray) -> np.ndarray:
    # A numpy function of 0-d arrays returns a scalar, which has no flags of its own.
    view: np.ndarray = (array if isinstance(array, np.ndarray) else np.asarray(array)).view()
    view.flags.writeable = False
    return view


def _grouped(values: Sequence[Any], slots: Sequence[ArgGroup]) -> tuple[Any, ...]:
    return tuple(
        list(values[slot.start : slot.start + slot.count])
        if slot.is_variadic
        else (values[slot.start] if slot.count else None)
        for slot in slots
    )


def _asked_for(result: Any, outputs: Sequence[ArgGroup], declared: Sequence[str]) -> Any:
    """Remove from a kernel's result what it returned for optional outputs that are not requested."""
    if len(declared) <= len(outputs) or not isinstance(result, (list, tuple)) or len(result) != len(declared):
        return result
    names = {slot.name for slot in outputs}
    return [item for name, item in zip(declared, result) if name in names]


def _results(result: Any, kernel: UserKernel, outputs: Sequence[ArgGroup]) -> list[np.ndarray]:
    """Return one array per output value, or raise an error about what the kernel returned."""
    names = ", ".join(slot.name for slot in outputs)
    if not isinstance(result, (list, tuple)):
        if len(outputs) != 1 or outputs[0].is_variadic:
            raise _broken(
                kernel,
                f"returned {_kind(result)} where a list or tuple with one array per output is expected ({names})",
            )
        return [_array(result, kernel, outputs[0].name)]
    if len(outputs) == 1 and outputs[0].is_variadic:
        result = [result]
    if len(result) != len(outputs):
        due = f"{len(outputs)} output{'' if len(outputs) == 1 else 's'}"
        raise _broken(kernel, f"returned {len(result)} values, the op declares {due} ({names})")
    flat: list[np.ndarray] = []
    for slot, item in zip(outputs, result):
        if not slot.is_variadic:
            flat.append(_array(item, kernel, slot.name))
            continue
        if not isinstance(item, (list, tuple)) or len(item) != slot.count:
            got = f"{len(item)} arrays" if isinstance(item, (list, tuple)) else _kind(item)
            raise _broken(kernel, f"returned {got} for output {slot.name!r}, of which there are {slot.count}")
        flat.extend(_array(part, kernel, slot.name) for part in item)
    return flat


def _array(value: Any, kernel: UserKernel, output: str) -> np.ndarray:
    if isinstance(value, (np.ndarray, np.generic)):
        return np.asarray(value)
    help = "return numpy.asarray(value, dtype) of the declared shape"
    if value is None:
        help = "a kernel must end with a return statement on every path"
    raise _broken(kernel, f"returned {_kind(value)} for output {output!r}, expected a numpy array", help)


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"one array of shape {value.shape}"
    return "None" if value is None else f"a Python {type(value).__name__} ({value!r:.60})"


def _compare(
    results: Arrays,
    expected: Sequence[tuple[tuple[int, ...], np.dtype]],
    kernel: UserKernel,
    outputs: Sequence[ArgGroup],
    count: int,
) -> None:
    names = [slot.name for slot in outputs for _ in range(slot.count)]
    for name, result, (shape, dtype) in zip(names, results, expected):
        if result.shape != shape:
            raise _broken(
                kernel,
                f"returned shape {result.shape} for output {name!r}, the definition infers {shape}",
                "args is a tuple: unpack the inputs from it, such as (x,) = args"
                if result.shape == (count, *shape)
                else "return exactly the inferred shape; nothing is broadcast or reshaped",
            )
        if result.dtype != dtype:
            raise _broken(
                kernel,
                f"returned dtype {result.dtype} for output {name!r}, the definition infers {dtype}",
                f"nothing is cast: return .astype({dtype.name!r}), or keep float64 constants out of the formula",
            )


def _broken(kernel: UserKernel, message: str, help: str = "", where: Location | None = None) -> KernelError:
    said = f"kernel {kernel.where.function!r} of op {kernel.op!r} {message}"
    return KernelError(said, where=where or kernel.where, help=help)


def _add_note(
    error: Exception, kernel: UserKernel, key: tuple[Any, ...], inputs: Sequence[ArgGroup], attrs: Attrs
) -> None:
    """Add to the error, which keeps its class, which kernel of which op raised it and on which inputs."""
    names = [slot.name for slot in inputs for _ in range(slot.count)]
    got = ", ".join(
        f"{name} {item[1]}{list(item[0])}" if item is not None else f"{name} left out" for name, item in zip(names, key)
    )
    note = f"in kernel {kernel.where.function!r} of op {kernel.op!r} ({_line_of(error, kernel)}), inputs: {got}"
    if attrs:
        note += f", attributes: {', '.join(f'{name}={str(value)[:60]}' for name, value in attrs.items())}"
        if not kernel.takes_attrs and isinstance(error, NameError):
            note += f"\nhelp: a kernel gets its attributes as {kernel.where.function}(args, attrs)"
    if hasattr(error, "add_note"):
        error.add_note(note)
    elif len(error.args) == 1 and isinstance(error.args[0], str):  # Python 3.10 has no notes
        error.args = (f"{error.args[0]}\n{note}",)
    else:
        error.__notes__ = [*getattr(error, "__notes__", ()), note]  # type: ignore[attr-defined]


def _line_of(error: Exception, kernel: UserKernel) -> Location:
    """Return the last line of the kernel's own file that the error passed through."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if frame.f_code.co_filename == kernel.where.file:
            return Location(kernel.where.file, line, function=frame.f_code.co_name)
    return kernel.where
