"""py_func: arguments, results, gradients, order and faults (Paddle 2.6, sections S of its observed behaviour)."""

from __future__ import annotations

import functools
import warnings
from typing import Any

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import static
from opkit.errors import ShapeError, UsageError
from opkit.static.plan.failures import ForbiddenCallError
from opkit.static.plan.user_calls import ResultError
from tests.static.nets import X, fed, made, run, tanh_grad

py_func = static.py_func


# ---- what it returns, what it takes ----------------------------------------------------------------------------------
def test_out_itself_is_returned() -> None:
    """py_func hands back the very object that was passed as out; None stays None."""
    x, out, pair = fed(), made("o"), [made("a"), made("b")]
    assert py_func(np.tanh, x, out) is out
    assert py_func(lambda v: (v + 1, v + 2), x, pair) is pair
    assert py_func(lambda v: None, x, None) is None


def test_an_array_declares_an_output() -> None:
    """An array as out declares shape and dtype; a Variable takes its place."""
    out = py_func(lambda v: v * 2, fed(), np.empty((2, 3), np.float32))
    assert (out.shape, out.desc.dtype) == ((2, 3), "float32")
    assert run(fetch=[out])[0].tolist() == (X * 2).tolist()


class Callable:
    def __call__(self, v: Any) -> Any:
        return v + 1

    def method(self, v: Any) -> Any:
        return v + 2


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (Callable(), X + 1),
        (Callable().method, X + 2),
        (functools.partial(lambda k, v: v + k, 3), X + 3),
        (np.tanh, np.tanh(X)),
        (lambda v, k=7: v + k, X + 7),
        (lambda *v: v[0] * 1, X),
        (lambda v, **others: v * 1, X),
    ],
)
def test_any_callable(function: Any, expected: np.ndarray) -> None:
    """Callable objects, methods, partials, ufuncs and functions with defaults are called with the inputs."""
    out = py_func(function, fed(), made("o"))
    np.testing.assert_array_equal(run(fetch=[out])[0], expected)


def test_arguments_are_read_only_arrays_without_a_copy() -> None:
    """An argument shares memory with what was fed and cannot be written to; the error says to copy."""
    seen: list[np.ndarray] = []
    py_func(lambda v: seen.append(v), fed(), None)
    feed = X.copy()
    run({"x": feed}, [])
    assert np.shares_memory(seen[0], feed)
    assert not seen[0].flags.writeable
    assert feed.flags.writeable

    def write(v: np.ndarray) -> np.ndarray:
        v[0] = 1
        return v

    out = py_func(write, static.default_main_program().global_block().var("x"), made("o"))
    with pytest.raises(ValueError, match="read-only") as caught:
        run(fetch=[out])
    notes = "\n".join(caught.value.__notes__)
    assert "py_func[write]" in notes
    assert __file__ in notes
    assert "copy one before writing" in notes


def test_what_is_fetched_is_the_callers_own() -> None:
    """A fetched array can be written to without changing a later run, a feed, or what a function kept."""
    kept: list[np.ndarray] = []
    buffer = np.zeros((2, 3), np.float32)

    def into_buffer(v: np.ndarray) -> np.ndarray:
        np.add(v, 1, out=buffer)
        return buffer

    x = fed()
    a = py_func(into_buffer, x, made("a"))
    b = py_func(lambda v: kept.append(v) or v, a, made("b"))
    executor = static.Executor()
    feed = X.copy()
    first = executor.run(feed={"x": feed}, fetch_list=[a, b, x])
    copies = [item.copy() for item in first]
    for item in first:
        item += 100
    assert (buffer == X + 1).all()
    assert (kept[0] == X + 1).all()
    assert (feed == X).all()
    for old, new in zip(copies, executor.run(feed={"x": feed}, fetch_list=[a, b, x])):
        np.testing.assert_array_equal(old, new)


def test_a_buffer_that_a_function_returns_again_and_again() -> None:
    """A function may return one buffer of its own from every call; each op of a chain keeps its own value."""
    buffer = np.zeros((2, 3), np.float32)

    def add_one(v: np.ndarray) -> np.ndarray:
        np.add(v, 1, out=buffer)
        return buffer

    x = fed()
    a = py_func(add_one, x, made("a"))
    b = py_func(add_one, a, made("b"))
    found = run(fetch=[a, b])
    np.testing.assert_array_equal(found[0], X + 1)
    np.testing.assert_array_equal(found[1], X + 2)


# ---- results ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda v: 1.5, np.array(1.5)),
        (lambda v: np.float32(2), np.array(2, np.float32)),
        (lambda v: [v.T], X.T),
        (lambda v: ([[1.0, 2.0]],), np.array([[1.0, 2.0]])),
        (lambda v: v[:, ::2], X[:, ::2]),
        (lambda v: v > 1, X > 1),
        (lambda v: v.astype("float64"), X.astype("float64")),
        (lambda v: v, X),
    ],
)
def test_kinds_of_results(function: Any, expected: np.ndarray) -> None:
    """Numbers, lists, views, other dtypes and the argument itself are results; what was declared is not enforced."""
    out = py_func(function, fed(), made("o"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (found,) = run(fetch=[out])
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda v: (v, v), "returned 2 values, expected 1"),
        (lambda v: None, "returned None for output 0"),
        (lambda v: "abc", "'abc'.*not a numeric array"),
        (lambda v: object(), "not a numeric array"),
        (lambda v: [], "returned 0 values, expected 1"),
    ],
)
def test_wrong_results(function: Any, message: str) -> None:
    """A wrong number of values, None, or something that is not an array is a ValueError that names the function."""
    out = py_func(function, fed(), made("o"))
    with pytest.raises(ResultError, match=message) as caught:
        run(fetch=[out])
    assert isinstance(caught.value, ValueError)
    assert "py_func[<lambda>]" in str(caught.value)


def test_a_value_where_none_was_declared() -> None:
    """A function that was added without outputs must return nothing."""
    py_func(lambda v: v * 1, fed(), None)
    with pytest.raises(ResultError, match="without outputs"):
        run(fetch=[])


def test_another_shape_is_used_as_it_is_with_one_warning() -> None:
    """A result of another shape than declared flows on as it is, with one warning per op that names its line."""
    x = fed()
    out = py_func(lambda v: np.concatenate([v, v]), x, made("o"))
    after = out * 2.0
    executor = static.Executor()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            found = executor.run(feed={"x": X}, fetch_list=[after, out])
    assert len(seen) == 1
    assert "float32[4, 3] for 'o', which was declared as float32[2, 3]" in str(seen[0].message)
    assert seen[0].filename == __file__
    np.testing.assert_array_equal(found[0], np.concatenate([X, X]) * 2)


def test_a_result_keeps_its_shape_from_run_to_run() -> None:
    """A function whose result grows from run to run is followed, and never lands in a buffer of an earlier size."""
    sizes = iter([2, 5, 3, 2])
    x = fed(shape=[None, 3])
    out = py_func(lambda v: np.ones((next(sizes), 3), np.float32), x, made("o", [-1, 3]))
    total = paddle.sum(out * 2.0 + 1.0)
    executor = static.Executor()
    found = [float(executor.run(feed={"x": X}, fetch_list=[total])[0]) for _ in range(4)]
    assert found == [18.0, 45.0, 27.0, 18.0]


# ---- gradients -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("skip", ["", "x", "y", "o", "xy", "xo", "xyo"])
def test_order_of_backwards_arguments(skip: str) -> None:
    """backward_func takes inputs, outputs, output gradients, in this order, without the skipped ones."""
    got: list[list[float]] = []

    def backward(*args: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        got.append([float(item.sum()) for item in args])
        return args[-1] * 1, args[-1] * 2

    named = {"x": fed(), "y": fed("y"), "o": made("o")}
    out = py_func(lambda a, b: a * b, [named["x"], named["y"]], named["o"], backward, [named[key] for key in skip])
    static.append_backward(paddle.mean(out))
    found = run({"x": X, "y": X + 1}, ["x@GRAD", "y@GRAD"])
    sums = {"x": X.sum(), "y": (X + 1).sum(), "o": (X * (X + 1)).sum()}
    np.testing.assert_allclose(got[0], [*(sums[key] for key in "xyo" if key not in skip), 1.0], rtol=1e-6)
    np.testing.assert_allclose(found[1], 2 * found[0])


def test_an_output_without_gradient_gives_none() -> None:
    """backward_func gets None for an output that no loss depends on."""
    got: list[Any] = []
    x, a, b = fed(), made("a"), made("b")
    py_func(lambda v: (v + 1, v + 2), x, [a, b], lambda x, a, b, da, db: got.append((da, db)) or da)
    static.append_backward(paddle.mean(a))
    run(fetch=["x@GRAD"])
    assert got[0][1] is None
    np.testing.assert_allclose(got[0][0], np.full((2, 3), 1 / 6), rtol=1e-6)


def test_none_for_an_input_that_needs_no_gradient() -> None:
    """None is accepted, and an array ignored, for an input with stop_gradient; None for another is an error."""
    for given in (None, X):
        with static.program_guard(static.default_main_program().__class__()):
            x, y, out = fed(), fed("y", stops=True), made("o")
            py_func(lambda a, b: a * b, [x, y], out, lambda a, b, o, d, given=given: (d * b, given))
            static.append_backward(paddle.sum(out))
            np.testing.assert_array_equal(run({"x": X, "y": X}, ["x@GRAD"])[0], X)
    x, out = fed(), made("o")
    py_func(np.tanh, x, out, lambda x, o, d: None)
    static.append_backward(paddle.sum(out))
    with pytest.raises(ResultError, match=r"None as the gradient of input 0 \('x'\)"):
        run(fetch=["x@GRAD"])


def test_a_gradient_of_the_wrong_shape_is_an_error() -> None:
    """A gradient has its input's shape; another dtype is cast to the input's."""
    x, out = fed(), made("o")
    py_func(np.tanh, x, out, lambda x, o, d: d.sum(0))
    static.append_backward(paddle.sum(out))
    with pytest.raises(ShapeError, match=r"gradient of shape \(3,\) for input 0 \('x'\).*\(2, 3\)"):
        run(fetch=["x@GRAD"])


def test_a_gradient_of_another_dtype_is_cast() -> None:
    """A float64 gradient of a float32 input becomes float32."""
    x, out = fed(), made("o")
    py_func(np.tanh, x, out, lambda x, o, d: d.astype("float64") * 3)
    static.append_backward(paddle.sum(out))
    (found,) = run(fetch=["x@GRAD"])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, np.full((2, 3), 3, np.float32))


def test_without_backward_func_nothing_flows() -> None:
    """A py_func without backward_func has no gradient: gradients() and append_backward() return nothing."""
    x, out = fed(), made("o")
    py_func(np.tanh, x, out)
    loss = paddle.mean(out)
    assert paddle.static.gradients(loss, x) == []
    assert static.append_backward(loss) == []
    assert paddle.optimizer.SGD(0.1).minimize(loss) == ([], [])


def test_the_same_input_twice() -> None:
    """The gradients of both slots are summed."""
    x, out = fed(), made("o")
    py_func(lambda a, b: a * b, [x, x], out, lambda a, b, o, d: (d * b, d * a))
    static.append_backward(paddle.sum(out))
    np.testing.assert_array_equal(run(fetch=["x@GRAD"])[0], 2 * X)


def test_two_functions_that_write_one_output() -> None:
    """The last one counts, for the value and for the gradient; the first one's reader keeps the first value."""
    x, out = fed(), made("o")
    py_func(lambda v: v * 2, x, out, lambda x, o, d: d * 2)
    first = out + 0.0
    py_func(lambda v: v * 3, x, out, lambda x, o, d: d * 3)
    static.append_backward(paddle.sum(out))
    found = run(fetch=[first, out, "o", "x@GRAD"])
    for array, factor in zip(found, (2, 3, 3)):
        np.testing.assert_allclose(array, X * factor)
    np.testing.assert_array_equal(found[3], np.full((2, 3), 3, np.float32))


def test_stop_gradient_of_outputs() -> None:
    """An output takes no gradient where no input does."""
    assert py_func(np.tanh, fed(stops=True), made("o")).stop_gradient
    assert not py_func(np.tanh, fed("y"), made("p")).stop_gradient


# ---- running ---------------------------------------------------------------------------------------------------------
def test_all_functions_run_in_program_order() -> None:
    """Functions run in program order on the caller's thread, whether something fetches them or not."""
    import threading

    calls: list[tuple[str, int]] = []
    x = fed()

    def record(name: str) -> Any:
        return lambda v: calls.append((name, threading.get_ident()))

    py_func(record("a"), x, None)
    py_func(lambda v: (record("b")(v), v * 1)[1], x, made("o"))
    py_func(record("c"), x, None)
    executor = static.Executor()
    for _ in range(3):
        executor.run(feed={"x": X}, fetch_list=[])
    assert [name for name, _ in calls] == ["a", "b", "c"] * 3
    assert {thread for _, thread in calls} == {threading.get_ident()}


class OwnError(Exception):
    pass


def test_errors_keep_their_class_and_traceback() -> None:
    """An exception of a user's function arrives as it is, in every run, with a note that names op and line."""

    def fails(v: Any) -> Any:
        raise OwnError("what the user says")

    x = fed()
    py_func(fails, x, made("o"))
    executor = static.Executor()
    for _ in range(2):
        with pytest.raises(OwnError, match="what the user says") as caught:
            executor.run(feed={"x": X}, fetch_list=["o"])
        assert any("py_func[fails]" in note and __file__ in note for note in caught.value.__notes__)
        trace = caught.value.__traceback__
        names = []
        while trace is not None:
            names.append(trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        assert names[-1] == "fails"


def test_framework_functions_are_forbidden_in_functions() -> None:
    """A framework function inside func is an error, and appends to no program."""

    def wrong(v: Any) -> Any:
        return paddle.tanh(paddle.to_tensor(v))

    py_func(wrong, fed(), made("o"))
    program = static.default_main_program()
    before = (len(program.global_block().ops), program.version)
    with pytest.raises(ForbiddenCallError, match="inside a Python function while the program runs"):
        run(fetch=["o"])
    assert (len(program.global_block().ops), program.version) == before
    assert static.in_static_mode()


def test_numpys_error_state_in_functions_is_the_users() -> None:
    """A division by zero in a user's function warns as numpy does, also between built-in ops that do not."""
    x = fed()
    out = py_func(lambda v: 1 / v, (x - x) * 1.0, made("o"))
    final = (out * 1.0) / (x - x)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        run(fetch=[final])


# ---- bad arguments ---------------------------------------------------------------------------------------------------
def test_bad_arguments() -> None:
    """Wrong types are TypeErrors when the op is added, wrong combinations ValueErrors."""
    x, out = fed(), made("o")
    for bad in (
        lambda: py_func(3, x, out),
        lambda: py_func(np.tanh, x, out, 3),
        lambda: py_func(np.tanh, X, out),
        lambda: py_func(np.tanh, x, "o"),
        lambda: py_func(np.tanh, x, out, tanh_grad, "x"),
    ):
        with pytest.raises(TypeError, match="py_func"):
            bad()
    with pytest.raises(UsageError, match="both empty"):
        py_func(lambda: None, None, None)
    with pytest.raises(UsageError, match="'y' in skip_vars_in_backward_input is not one of its inputs"):
        py_func(np.tanh, x, out, tanh_grad, fed("y"))
    with pytest.raises(UsageError, match="without a shape"):
        py_func(np.tanh, x, static.default_main_program().current_block().create_var(name="n", dtype="float32"))


def test_functions_without_inputs() -> None:
    """X may be None or an empty list."""
    a, b = made("a", [1]), made("b", [1])
    py_func(lambda: np.array([5], np.float32), None, a)
    py_func(lambda: np.array([6], np.float32), [], b)
    assert [float(item[0]) for item in run({}, [a, b])] == [5.0, 6.0]


def test_a_parameter_as_an_argument() -> None:
    """A function may take a parameter: it sees it read-only, its gradient arrives, and the parameter is trained."""
    seen: list[bool] = []
    x = fed(stops=True)
    w = paddle.create_parameter([3], "float32", default_initializer=paddle.nn.initializer.Constant(2.0))

    def forward(x: np.ndarray, w: np.ndarray) -> np.ndarray:
        seen.append(w.flags.writeable)
        return x * w

    out = py_func(forward, [x, w], made("o"), lambda x, w, o, d: (None, (d * x).sum(0)))
    loss = paddle.sum(out)
    paddle.optimizer.SGD(0.1).minimize(loss)
    executor = static.Executor()
    executor.run(paddle.static.default_startup_program())
    found = [float(executor.run(feed={"x": X}, fetch_list=[loss])[0]) for _ in range(3)]
    slope = X.sum(0)
    np.testing.assert_allclose(found, [float(slope @ (2 - 0.1 * i * slope)) for i in range(3)], rtol=1e-5)
    assert not any(seen)
