"""Executor: feeds, fetches, scopes, faults, and which plans it keeps."""

from __future__ import annotations

import threading
import warnings

import numpy as np
import pytest

import opkit.paddle as paddle
from opkit import ops, static
from opkit.errors import DtypeError, GraphError, ShapeError
from opkit.ir import Program
from opkit.static.executor import FetchError, ModeError
from opkit.static.plan.failures import MissingFeedError, UninitializedError
from tests.static.nets import X, chain, fed, made, py_tanh, run


# ---- feeds -----------------------------------------------------------------------------------------------------------
def test_a_missing_feed_is_named() -> None:
    """A feed that the fetches need and that is missing is a ValueError that names what was fed."""
    y = fed("image") + fed("other")
    with pytest.raises(MissingFeedError, match=r"'image' is not fed.*fed: other") as caught:
        run({"other": X}, [y])
    assert isinstance(caught.value, ValueError)


def test_an_unknown_feed_warns_with_the_nearest_name() -> None:
    """A feed that the program does not have is ignored with a warning that names the nearest."""
    y = fed("image") + 1.0
    with pytest.warns(UserWarning, match=r"'imgae' is ignored.*did you mean 'image'") as seen:
        static.Executor().run(feed={"image": X, "imgae": X}, fetch_list=[y])
    assert seen[0].filename == __file__


@pytest.mark.parametrize(
    ("array", "kind", "message"),
    [
        (X.astype("float64"), DtypeError, "'x' must have dtype 'float32', got 'float64'"),
        (X.astype("int64"), DtypeError, "got 'int64'"),
        (X[:, :2], ShapeError, r"'x' must have shape \[2, 3\], got \[2, 2\]"),
        (X[0], ShapeError, r"got \[3\]"),
        ("abc", DtypeError, "not an array of float32"),
    ],
)
def test_a_feed_that_does_not_fit(array: object, kind: type[Exception], message: str) -> None:
    """A feed of another dtype, rank or size than declared is refused; it is a ValueError."""
    y = fed() + 1.0
    with pytest.raises(kind, match=message) as caught:
        run({"x": array}, [y])
    assert isinstance(caught.value, ValueError)


def test_the_order_of_bytes_is_no_other_dtype() -> None:
    (found,) = run({"x": X.astype(">f4")}, [fed() + 1.0])
    np.testing.assert_array_equal(found, X + 1)


def test_a_scope_finds_its_own_place_before_its_parents() -> None:
    outer = static.Scope()
    inner, above = outer.new_scope(), outer.var("both")
    assert inner.find_var("both") is above
    own = inner.var("both")
    assert (inner.find_var("both"), outer.find_var("both"), inner.find_var("none")) == (own, above, None)


def test_a_list_is_fed_in_the_declared_dtype() -> None:
    """A nested list becomes an array of the declared dtype."""
    (found,) = run({"x": X.tolist()}, [fed() + 1.0])
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, X + 1)


# ---- fetches ---------------------------------------------------------------------------------------------------------
def test_kinds_of_fetches() -> None:
    """Variables, names, a bare one, tuples and repetitions are fetched; a Variable that nothing writes gives None."""
    y = fed() + 1.0
    found = run(fetch=[y, y.name, y])
    for array in found:
        np.testing.assert_array_equal(array, X + 1)
    assert len({id(array) for array in found}) == 3
    assert len(run(fetch=y)) == len(run(fetch=(y,))) == 1
    assert run(fetch=[made("never")]) == [None]
    assert run(fetch=[]) == run() == []


def test_unknown_fetches() -> None:
    """An unknown name is a RuntimeError that offers the nearest; another type is a TypeError."""
    fed()
    made("hidden")
    with pytest.raises(FetchError, match=r"no variable 'hiden'.*\n.*did you mean 'hidden'"):
        run(fetch=["hiden"])
    with pytest.raises(TypeError, match=r"fetch_list\[0\] must be a Variable or a name, got int"):
        run(fetch=[3])


def test_a_variable_of_another_program_is_fetched_by_name() -> None:
    """A Variable of the original fetches its namesake from a clone."""
    y = fed() + 1.0
    clone = static.default_main_program().clone()
    np.testing.assert_array_equal(run(fetch=[y], program=clone)[0], X + 1)


def test_return_numpy_false_gives_tensors() -> None:
    """Without return_numpy the results are tensors that numpy reads; shape is a method there."""
    (found,) = run(fetch=[fed() + 1.0], return_numpy=False)
    np.testing.assert_array_equal(np.array(found), X + 1)
    assert found.shape() == [2, 3]


# ---- variables and scopes --------------------------------------------------------------------------------------------
def test_before_startup() -> None:
    """Running before the startup program names the variables and the fix; it is a RuntimeError and a ValueError."""
    y = paddle.static.nn.fc(fed(), 2)
    with pytest.raises(UninitializedError, match=r"'fc_0.w_0', 'fc_0.b_0'.*not initialised.*\n.*startup") as caught:
        static.Executor().run(feed={"x": X}, fetch_list=[y])
    assert isinstance(caught.value, RuntimeError)
    assert isinstance(caught.value, ValueError)


def test_startup_again_initialises_again() -> None:
    """Running the startup program again draws new first values, and the next run uses them."""
    y = paddle.static.nn.fc(fed(), 2)
    executor = static.Executor()
    startup = paddle.static.default_startup_program()
    executor.run(startup)
    (first,) = executor.run(feed={"x": X}, fetch_list=[y])
    executor.run(startup)
    (second,) = executor.run(feed={"x": X}, fetch_list=[y])
    assert not np.array_equal(first, second)


def test_a_variable_set_from_outside() -> None:
    """find_var(...).get_tensor() reads and sets a variable's data; the array that is handed over stays the caller's."""
    attr = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(0.5))
    y = paddle.static.nn.fc(fed(), 2, weight_attr=attr, bias_attr=False)
    np.testing.assert_allclose(run(fetch=[y])[0], X @ np.full((3, 2), 0.5, np.float32))
    tensor = static.global_scope().find_var("w").get_tensor()
    assert tensor.shape() == [3, 2]
    new = np.ones((3, 2), np.float32)
    tensor.set(new, paddle.CPUPlace())
    new[:] = 7
    (found,) = static.Executor().run(feed={"x": X}, fetch_list=[y])
    np.testing.assert_allclose(found, X @ np.ones((3, 2), np.float32))
    assert static.global_scope().find_var("nope") is None


def test_scopes_do_not_share_data() -> None:
    """The same program has its own variables in each scope."""
    y = paddle.static.nn.fc(fed(), 2)
    executor, other = static.Executor(), static.Scope()
    executor.run(paddle.static.default_startup_program())
    with pytest.raises(UninitializedError):
        executor.run(feed={"x": X}, fetch_list=[y], scope=other)
    with static.scope_guard(other):
        executor.run(paddle.static.default_startup_program())
    (first,) = executor.run(feed={"x": X}, fetch_list=[y])
    (second,) = executor.run(feed={"x": X}, fetch_list=[y], scope=other)
    assert not np.array_equal(first, second)


def test_a_fetched_parameter_is_a_copy() -> None:
    """A fetched parameter shows its value after the run and shares no memory with it."""
    x = fed(stops=True)
    attr = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(1.0))
    loss = paddle.mean(paddle.static.nn.fc(x, 1, weight_attr=attr, bias_attr=False))
    paddle.optimizer.SGD(1.0).minimize(loss)
    (w,) = run(fetch=["w"])
    np.testing.assert_allclose(w[:, 0], 1 - X.mean(0), rtol=1e-6)
    w[:] = 100
    held = np.array(static.global_scope().find_var("w").get_tensor())
    np.testing.assert_allclose(held[:, 0], 1 - X.mean(0), rtol=1e-6)


# ---- states of the executor and of programs --------------------------------------------------------------------------
def test_a_closed_executor() -> None:
    """A closed Executor refuses to run."""
    executor = static.Executor()
    executor.close()
    with pytest.raises(GraphError, match="closed"):
        executor.run(feed={"x": X}, fetch_list=[fed() + 1.0])


def test_running_in_dynamic_mode() -> None:
    """A program is not run in dynamic mode (an AssertionError in Paddle)."""
    y = fed() + 1.0
    static.disable_static()
    with pytest.raises(ModeError, match="enable_static"):
        static.Executor().run(static.default_main_program(), feed={"x": X}, fetch_list=[y])


def test_an_op_added_while_the_program_runs() -> None:
    """An op that another thread adds to a running program is refused; the run goes on undisturbed."""
    x, program = fed(), static.default_main_program()
    faults: list[BaseException] = []

    def add() -> None:
        static.enable_static()
        try:
            with static.program_guard(program):
                paddle.tanh(x)
        except GraphError as error:
            faults.append(error)

    def during(v: np.ndarray) -> np.ndarray:
        thread = threading.Thread(target=add)
        thread.start()
        thread.join()
        return v * 2

    out = static.py_func(during, x, made("o"))
    np.testing.assert_array_equal(run(fetch=[out])[0], X * 2)
    assert "while an Executor runs it" in str(faults[0])
    np.testing.assert_array_equal(run(fetch=[paddle.exp(x)])[0], np.exp(X))


def test_threads_that_run_one_program() -> None:
    """Threads that run one program at once do not disturb each other's buffers."""
    _, loss = chain(20, (50, 40))
    static.append_backward(loss)
    program, executor = static.default_main_program(), static.Executor()
    feeds = [np.full((50, 40), value, np.float32) for value in (0.1, 0.2, 0.3, 0.4)]
    expected = [executor.run(program, feed={"x": item}, fetch_list=[loss, "x@GRAD"]) for item in feeds]
    wrong: list[str] = []

    def work(index: int) -> None:
        static.enable_static()
        for _ in range(30):
            for got, want in zip(
                executor.run(program, feed={"x": feeds[index]}, fetch_list=[loss, "x@GRAD"]), expected[index]
            ):
                if not np.array_equal(got, want):
                    wrong.append(f"thread {index}")

    scope = static.global_scope()

    def start(index: int) -> None:
        with static.scope_guard(scope):
            work(index)

    threads = [threading.Thread(target=start, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


# ---- plans -----------------------------------------------------------------------------------------------------------
def test_one_plan_per_program_sizes_and_fetches(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan is made again only when the program, the sizes or the fetches change, and an old one is found again."""
    import opkit.static.executor as module

    made_plans: list[object] = []
    real = module.compile_plan
    monkeypatch.setattr(module, "compile_plan", lambda *a, **k: made_plans.append(1) or real(*a, **k))
    x = fed(shape=[None, 3])
    y = py_tanh(x, "o") * 2.0
    z = y + 1.0
    executor = static.Executor()
    for size in (2, 4, 2, 4, 2):
        executor.run(feed={"x": np.ones((size, 3), np.float32)}, fetch_list=[y])
    assert len(made_plans) == 2
    executor.run(feed={"x": X}, fetch_list=[z])
    executor.run(feed={"x": X}, fetch_list=[y])
    assert len(made_plans) == 3
    w = z + 1.0
    executor.run(feed={"x": X}, fetch_list=[w])
    assert len(made_plans) == 4


def test_the_number_of_plans_is_bounded() -> None:
    """However many sizes are fed, the cache stays bounded, and later sizes share a plan for any sizes."""
    x = fed(shape=[None, 3])
    y = paddle.sum(py_tanh(x, "o") * 2.0, axis=0)
    executor = static.Executor()
    for size in range(1, 200):
        array = np.full((size, 3), 0.5, np.float32)
        np.testing.assert_allclose(
            executor.run(feed={"x": array}, fetch_list=[y])[0], np.tanh(0.5) * 2 * size * np.ones(3), rtol=1e-5
        )
    assert len(executor.cache) <= 64


def test_programs_that_share_names_do_not_share_plans() -> None:
    """Two programs with the same names are told apart."""
    found = []
    for factor in (2.0, 3.0):
        with static.program_guard(Program(), Program()):
            y = static.py_func(lambda v, factor=factor: v * np.float32(factor), fed(), made("y"))
            found.append(y.block.program)
    executor = static.Executor()
    for _ in range(3):
        for program, factor in zip(found, (2, 3)):
            np.testing.assert_array_equal(executor.run(program, feed={"x": X}, fetch_list=["y"])[0], X * factor)


def test_no_warning_where_nothing_is_wrong() -> None:
    """A plain training step warns of nothing."""
    x = fed(stops=True)
    loss = paddle.mean(py_tanh(paddle.static.nn.fc(x, 4), "o"))
    paddle.optimizer.Adam(0.1).minimize(loss)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(fetch=[loss])


def test_a_program_that_does_not_fit_into_memory_is_one_error() -> None:
    """How much it needs is said; the error is a MemoryError too."""
    x = fed()
    wide = ops.scalar_add(ops.tile(ops.scalar_mul(x, 2.0), [2**40, 1]), 1.0)
    with pytest.raises(GraphError, match=r"needs \d+\.\d GiB") as raised:
        run(fetch=[ops.reduce_sum(wide)])
    assert isinstance(raised.value, MemoryError)
