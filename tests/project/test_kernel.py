"""The contract under which user kernels run: what they see, what they may return, and what they are told."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from opkit.errors import KernelError, Location
from opkit.ir import TensorDesc
from opkit.project.kernel import ArgGroup, UserKernel, guarded, positional_count

X = np.arange(3, dtype=np.float32)
ONE = (TensorDesc((3,), "float32"),)
TWO = (TensorDesc((3,), "float32"), TensorDesc((), "int64"))


def bound(
    function: Callable[..., Any],
    promised: tuple[TensorDesc, ...] = ONE,
    inputs: tuple[ArgGroup, ...] = (ArgGroup("x", 0, 1),),
    outputs: tuple[ArgGroup, ...] | None = None,
    attrs: dict[str, Any] | None = None,
) -> Callable[..., Any]:
    """Bind a function as the kernel of op "t_forward"."""
    where = Location(function.__code__.co_filename, function.__code__.co_firstlineno, function=function.__name__)
    kernel = UserKernel("t_forward", function, (positional_count(function) or 0) >= 2, where)
    slots = outputs or tuple(ArgGroup(name, i, 1) for i, name in enumerate(("y", "n")[: len(promised)]))
    return guarded(kernel, inputs, slots, attrs or {}, lambda key: promised)


def test_array_or_sequence_of_arrays() -> None:
    """One output may come alone, in a list or in a tuple; several come in a list or a tuple."""
    for forward in (lambda args: args[0] + 1, lambda args: [args[0] + 1], lambda args: (args[0] + 1,)):
        np.testing.assert_array_equal(bound(forward)(X), X + 1, strict=True)
    first, second = bound(lambda args: [args[0], np.int64(4)], TWO)(X)
    np.testing.assert_array_equal(first, X)
    assert isinstance(second, np.ndarray)
    assert (second.shape, second.dtype, int(second)) == ((), np.int64, 4)


def test_scalars_arrive_as_arrays() -> None:
    """A numpy scalar, which is what numpy makes of 0-d results, reaches the kernel as a 0-d array."""
    promised = (TensorDesc((), "float64"),)
    result = bound(lambda args: np.asarray(type(args[0]) is np.ndarray, np.float64), promised)(np.float64(1))
    assert result == 1


def test_arguments_are_read_only_views() -> None:
    """The kernel sees the caller's memory, but cannot write to it; the caller's array stays writable."""
    seen = []

    def forward(args):
        seen.append(args[0])
        return args[0]

    x = X.copy()
    bound(forward)(x)
    assert np.shares_memory(seen[0], x)
    assert not seen[0].flags.writeable
    assert x.flags.writeable


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(0, 1),
        lambda x: x.__iadd__(1),
        lambda x: x.sort(),
        lambda x: x.fill(0),
        lambda x: np.exp(x, out=x),
    ],
    ids=["item", "+=", "sort", "fill", "out="],
)
def test_writing_to_an_argument(write: Callable[[np.ndarray], Any]) -> None:
    """A kernel that writes to an argument is told so: the op, the line, and what to do."""

    def forward(args):
        (x,) = args
        write(x)
        return x

    with pytest.raises(KernelError, match="'forward' of op 't_forward' writes to one of its arguments") as caught:
        bound(forward)(X.copy())
    assert caught.value.where.line == write.__code__.co_firstlineno
    assert "copy" in caught.value.help


BROKEN = {
    "None": (lambda args: None, ONE, r"returned None for output 'y', expected a numpy array"),
    "a Python number": (lambda args: 1.5, ONE, r"returned a Python float \(1\.5\) for output 'y'"),
    "a list of numbers": (lambda args: [1.0, 2.0, 3.0], ONE, r"returned 3 values, the op declares 1 output \(y\)"),
    "too few": (lambda args: [args[0]], TWO, r"returned 1 values, the op declares 2 outputs \(y, n\)"),
    "one for two": (lambda args: np.zeros((2, 3), np.float32), TWO, r"one array of shape \(2, 3\) where a list"),
    "shape": (lambda args: args[0][:2], ONE, r"shape \(2,\) for output 'y', the definition infers \(3,\)"),
    "extra axis": (lambda args: args[0][None], ONE, r"shape \(1, 3\) for output 'y', the definition infers \(3,\)"),
    "dtype": (
        lambda args: args[0] * np.float64(2),
        ONE,
        r"dtype float64 for output 'y', the definition infers float32",
    ),
    "byte order": (lambda args: args[0].astype(">f4"), ONE, r"dtype >f4 for output 'y'"),
    "text": (lambda args: "no", ONE, r"returned a Python str \('no'\)"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_results_that_break_the_contract(name: str) -> None:
    """A wrong result is an error that says which output, what was expected and what came; nothing is cast."""
    function, promised, message = BROKEN[name]
    with pytest.raises(KernelError, match=message) as caught:
        bound(function, promised)(X)
    assert "op 't_forward'" in str(caught.value)
    assert caught.value.where.file == __file__


def test_errors_keep_their_class() -> None:
    """What a kernel raises passes through, with a note that names the op, the line and the inputs."""

    class OwnError(Exception):
        pass

    def forward(args):
        raise OwnError("told so")

    with pytest.raises(OwnError) as caught:
        bound(forward)(X)
    text = "\n".join(getattr(caught.value, "__notes__", caught.value.args))
    assert "in kernel 'forward' of op 't_forward'" in text
    assert "x float32[3]" in text


def test_context_of_an_error_stays() -> None:
    """The error during whose handling a kernel's error arose is still shown."""

    def forward(args):
        try:
            return {}["k"]
        except KeyError:
            raise ValueError("no") from RuntimeError("cause")

    with pytest.raises(ValueError, match="no") as caught:
        bound(forward)(X)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert isinstance(caught.value.__context__, KeyError)


def test_attributes_are_a_fresh_dict() -> None:
    """A kernel with two parameters gets the attributes; what it does to the dict is not seen by the next call."""

    def forward(args, attrs):
        return args[0] * attrs.pop("alpha")

    run = bound(forward, attrs={"alpha": 2.0})
    for _ in range(2):
        np.testing.assert_array_equal(run(X), 2 * X, strict=True)


def test_positional_count() -> None:
    """Positional parameters are counted with and without defaults, keyword-only ones are not."""
    assert positional_count(lambda args: 0) == 1
    assert positional_count(lambda args, attrs: 0) == 2
    assert positional_count(lambda args, attrs=None: 0) == 2
    assert positional_count(lambda args, *, attrs: 0) == 1
    assert positional_count(lambda *args: 0) == 1
    assert positional_count(lambda: 0) == 0


def test_optional_and_variadic_inputs() -> None:
    """An optional input left out arrives as None, a variadic one as a list."""
    slots = (ArgGroup("x", 0, 1), ArgGroup("bias", 1, 0), ArgGroup("many", 2, 2, is_variadic=True))

    def forward(args):
        x, bias, many = args
        assert bias is None
        assert type(many) is list
        return x + sum(many)

    np.testing.assert_array_equal(bound(forward, inputs=slots)(X, None, X, X), 3 * X, strict=True)


def test_variadic_output() -> None:
    """A variadic output is a list of arrays; its count is checked."""
    outputs = (ArgGroup("y", 0, 2, is_variadic=True),)
    promised = ONE + ONE
    first, second = bound(lambda args: [args[0], args[0] + 1], promised, outputs=outputs)(X)
    np.testing.assert_array_equal(second, X + 1)
    np.testing.assert_array_equal(first, X)
    with pytest.raises(KernelError, match="returned 3 arrays for output 'y', of which there are 2"):
        bound(lambda args: [X, X, X], promised, outputs=outputs)(X)


def test_promise_is_asked_once_per_signature() -> None:
    """Inference runs once per combination of shapes and dtypes, not once per call."""
    asked = []

    def promise(key):
        asked.append(key)
        return [TensorDesc(*key[0])]

    where = Location(__file__, 1, function="forward")
    run = guarded(
        UserKernel("t", lambda args: args[0], False, where), [ArgGroup("x", 0, 1)], [ArgGroup("y", 0, 1)], {}, promise
    )
    for shape in ((2,), (2,), (3,), (2,)):
        run(np.zeros(shape))
    assert len(asked) == 2


def test_a_tuple_of_arguments_taken_for_the_argument() -> None:
    """Computing with the tuple is computing with an array of one axis more: the help says what args is."""
    with pytest.raises(KernelError, match=r"returned shape \(1, 3\)") as caught:
        bound(lambda args: np.add(args, np.float32(1)))(X)
    assert caught.value.help == "args is a tuple: unpack the inputs from it, such as (x,) = args"


def _noted(function: Callable[..., Any], **attrs: Any) -> str:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the class is the user's
        bound(function, attrs=attrs)(X)
    return "\n".join(getattr(caught.value, "__notes__", ())) or str(caught.value)


def test_an_error_names_the_attributes() -> None:
    """A misspelt key stands beside those there are."""

    def forward(args: Any, attrs: Any) -> Any:
        raise LookupError(attrs.get("btea"))

    assert "attributes: beta=1.5" in _noted(forward, beta=1.5)


def test_a_kernel_that_does_not_take_its_attributes_is_told_how() -> None:
    """A name that is not defined, in a kernel with one parameter of an op with attributes."""

    def forward(args: Any) -> Any:
        return attrs["beta"]  # type: ignore[name-defined]  # noqa: F821

    assert "a kernel gets its attributes as forward(args, attrs)" in _noted(forward, beta=1.5)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_a_copy_that_a_kernel_forks_ends_with_the_call() -> None:
    """A kernel that forks and returns in both processes goes on in one; the copy leaves with status 0."""
    copies: list[int] = []

    def forks(args: Any) -> Any:
        copies.append(os.fork())
        return args[0]

    bound(forks)(X)
    _, status = os.waitpid(copies[0], 0)
    assert status == 0
