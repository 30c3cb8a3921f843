"""Plans: their text, what they leave out, which memory they use again, and that all of it changes no result."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import opkit.paddle as paddle
from opkit import ops, static
from opkit.ir import Program, Variable
from opkit.ops.core.finite import NonFiniteError
from opkit.ops.core.registry import BUILTIN
from opkit.settings import settings as opkit_settings
from opkit.static.plan.runs import flat
from tests.static.nets import X, chain, fed, made, py_tanh, run


def text_of(feed: Mapping[str, Any], fetch: Sequence[Any]) -> str:
    """Return the text of the plan of a run."""
    texts: list[str] = []
    executor = static.Executor()
    executor.run(paddle.static.default_startup_program())
    with opkit_settings(on_plan=texts.append):
        executor.run(feed=feed, fetch_list=fetch)
    (text,) = texts
    return text


def interpreted(executor: static.Executor, feed: Mapping[str, Any], fetch: Sequence[Any]) -> list[Any]:
    """Run op by op, as under an observer."""
    with ops.observe(lambda *shown: None):
        return executor.run(feed=feed, fetch_list=fetch)


# ---- text ------------------------------------------------------------------------------------------------------------
def test_the_text_of_a_plan() -> None:
    """A plan is straight-line Python: loads, calls with the user's lines beside them, checks, stores."""
    x = fed()
    y = py_tanh(x, "y")
    static.append_backward(paddle.mean(y))
    text = re.sub(r"  # \S+nets.py:\d+", "  # nets.py", text_of({"x": X}, ["x@GRAD"]))
    assert (
        text
        == """\
# plan: 2 ops, 2 constants, 0 buffers in 0 bytes, fed x, for these sizes
def run(s, h, b):
    v0 = s[n0]  # x
    v1 = tanh(v0)  # nets.py
    if type(v1) is not ndarray or v1.shape != shape_2x3 or v1.dtype is not float32 or v1.base is not None or \
getrefcount(v1) != 2: v1 = settle_0(v1, (v0, ))
    v1.setflags(False)
    v2 = tanh_grad(v1, c_y_GRAD)  # nets.py
    if type(v2) is not ndarray or v2.shape != shape_2x3 or v2.dtype is not float32 or v2.base is not None or \
getrefcount(v2) != 2: v2 = settle_1(v2, (like_float32_2x3, v1, c_y_GRAD, ))
    s[n2] = v2
""".replace("getrefcount(v1) != 2", f"getrefcount(v1) != {_alone()}").replace(
            "getrefcount(v2) != 2", f"getrefcount(v2) != {_alone()}"
        )
    )


def _alone() -> int:
    from opkit.ops.core.references import OF_LOCAL

    return OF_LOCAL


def test_the_text_is_deterministic() -> None:
    """The same program gives the same text, built again."""
    texts = []
    for _ in range(2):
        with static.guard_names(), static.program_guard(Program(), Program()):
            x = fed(stops=True)
            loss = paddle.mean(py_tanh(paddle.static.nn.fc(x, 4), "o"))
            paddle.optimizer.Adam(0.1).minimize(loss)
            texts.append(text_of({"x": X}, [loss]))
    assert texts[0] == texts[1]


# ---- what is left out ------------------------------------------------------------------------------------------------
def test_what_nobody_needs_is_left_out() -> None:
    """Ops that neither a fetch nor a side effect needs are not in the plan, and their feeds are not asked for."""
    x, unused = fed(), fed("unused")
    y = paddle.exp(x)
    paddle.cos(unused)
    text = text_of({"x": X}, [y])
    assert "exp" in text
    assert "cos" not in text


def test_constants_are_computed_once() -> None:
    """What depends on no feed is folded; random ops are not."""
    x = fed()
    constant = paddle.full([2, 3], 2.0) * 3.0 + 1.0
    noise = paddle.uniform([2, 3])
    text = text_of({"x": X}, [x * constant, noise])
    assert "3 constants" in text
    assert "uniform(" in text
    first, second = (run(fetch=[noise])[0] for _ in range(2))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(run(fetch=[x * constant])[0], X * 7)


def test_a_fetched_constant_is_a_copy() -> None:
    """A constant that is fetched can be written to without changing later runs."""
    constant = paddle.full([2], 2.0) * 3.0
    executor = static.Executor()
    (first,) = executor.run(fetch_list=[constant])
    first[:] = 0
    assert executor.run(fetch_list=[constant])[0].tolist() == [6.0, 6.0]


# ---- memory ----------------------------------------------------------------------------------------------------------
def test_buffers_are_used_again() -> None:
    """A chain of thirty products needs two buffers, since each is dead once the next is computed."""
    x = fed(shape=[50, 60])
    h = x
    for _ in range(30):
        h = paddle.matmul(h, paddle.full([60, 60], 0.01))
    text = text_of({"x": np.ones((50, 60), np.float32)}, [paddle.sum(h)])
    assert "2 buffers in 24064 bytes (24064 in use at once)" in text


def test_results_of_many_sizes_need_no_more_memory_than_are_in_use_at_once() -> None:
    """Large results leave room for small ones side by side, and these for a large one again."""
    x = fed(shape=[64, 64])
    wide = paddle.matmul(x, paddle.ones([64, 512]))
    small = [paddle.matmul(wide, paddle.ones([512, size])) for size in (16, 32, 48, 64)]
    narrow = paddle.concat(small, 1)
    h = paddle.matmul(narrow, paddle.ones([160, 512]))
    text = text_of({"x": np.ones((64, 64), np.float32)}, [paddle.sum(paddle.matmul(h, paddle.ones([512, 3])))])
    held, used = re.search(r"in (\d+) bytes \((\d+) in use at once\)", text).groups()  # type: ignore[union-attr]
    assert int(held) <= 1.05 * int(used)


@pytest.mark.parametrize("many", [0, 2000])
def test_a_plan_computes_what_dynamic_mode_does_wherever_results_lie(
    many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains of elementwise ops of several dtypes and sizes, with products between them, to the last bit."""
    monkeypatch.setattr("opkit.static.plan.layout._MANY", many)

    def net(x: Any) -> Any:
        h = x
        for size in (70, 30, 90, 50):
            product = paddle.matmul(h, paddle.full([h.shape[1], size], 0.01))
            double = paddle.cast(product, "float64") * 2.0 + 0.1  # larger, and begun when the product is still read
            h = paddle.tanh(paddle.cast(paddle.matmul(double, paddle.full([size, size], 0.01, "float64")), "float32"))
            wide = paddle.cast(h, "float64")
            h = h * paddle.cast(wide * 2.0 > 0.3, "float32") + paddle.cast(paddle.exp(wide), "float32")
        return h

    data = np.linspace(-1, 1, 9000 * 20, dtype=np.float32).reshape(9000, 20)
    (got,) = static.Executor().run(feed={"x": data}, fetch_list=[net(fed(shape=[9000, 20]))])
    paddle.disable_static()
    np.testing.assert_array_equal(got, net(paddle.to_tensor(data)).numpy())


def test_memory_that_a_function_may_see_is_not_used_again() -> None:
    """What a user's function took, or a view of it, keeps its content for good."""
    kept: list[tuple[np.ndarray, np.ndarray]] = []
    x = fed(shape=[20, 30])
    h = x
    for _ in range(5):
        h = h * 2.0
        static.py_func(lambda v: kept.append((v, v.copy())), h, None)
        static.py_func(lambda v: kept.append((v, v.copy())), paddle.reshape(h, [30, 20]), None)
    executor = static.Executor()
    for scale in (1, 2):
        executor.run(feed={"x": np.full((20, 30), scale, np.float32)}, fetch_list=[paddle.sum(h)])
    assert len(kept) == 20
    for seen, copy in kept:
        np.testing.assert_array_equal(seen, copy)


def test_peak_memory_is_what_backward_needs() -> None:
    """Forward and backward of 40 layers hold little more than the 40 outputs that backward reads."""
    size, layers = 1 << 18, 40
    x = fed(shape=[size])
    h = x
    for _ in range(layers):
        h = paddle.tanh(h * 0.5)
    loss = paddle.mean(h)
    static.append_backward(loss)
    executor = static.Executor()
    feed = {"x": np.ones(size, np.float32)}
    tracemalloc.start()
    executor.run(feed=feed, fetch_list=[loss, "x@GRAD"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < (layers + 5) * 4 * size


# ---- in place --------------------------------------------------------------------------------------------------------
def test_values_from_before_an_update_stay() -> None:
    """A view of a parameter that is fetched after its update shows the value from before; the name the one after."""
    x = fed(stops=True)
    attr = paddle.ParamAttr(name="w", initializer=paddle.nn.initializer.Constant(1.0))
    loss = paddle.mean(paddle.static.nn.fc(x, 2, weight_attr=attr, bias_attr=False))
    before = paddle.transpose(loss.block.var("w"), [1, 0])
    paddle.optimizer.SGD(1.0).minimize(loss)
    old, new = run(fetch=[before, "w"])
    np.testing.assert_array_equal(old, np.ones((2, 3), np.float32))
    np.testing.assert_allclose(new[:, 0], 1 - X.mean(0) / 2, rtol=1e-6)


# ---- runs of elementwise ops on large arrays -------------------------------------------------------------------------
UNARY: list[Callable[[Any], Any]] = [
    paddle.tanh, paddle.exp, paddle.square, paddle.sigmoid, paddle.nn.functional.relu,
    lambda v: v * 0.5, lambda v: v + 1.0, lambda v: -v, lambda v: paddle.cast(paddle.cast(v, "float64"), "float32"),
]  # fmt: skip
BINARY: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, paddle.maximum,
    lambda a, b: paddle.where(a > b, a, b),
]  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 13), st.integers(0, 100), st.integers(0, 100)), min_size=2, max_size=12))
@settings(max_examples=25, deadline=None)
def test_pieces_give_what_whole_arrays_give(steps: list[tuple[int, int, int]]) -> None:
    """Random elementwise graphs and their gradients are bit-equal computed in pieces over threads and op by op."""
    shape = [3, 100_003]
    with static.program_guard(Program(), Program()):
        x = fed(shape=shape)
        values: list[Variable] = [x, x * 0.5]
        for kind, left, right in steps:
            a, b = values[left % len(values)], values[right % len(values)]
            values.append(UNARY[kind](a) if kind < len(UNARY) else BINARY[kind - len(UNARY)](a, b))
        loss = paddle.sum(values[-1])
        static.append_backward(loss)
        fetch = [loss, values[-1], values[len(values) // 2]]
        if "x@GRAD" in loss.block.vars:
            fetch.append("x@GRAD")
        feed = {"x": np.random.default_rng(0).standard_normal(shape).astype(np.float32)}
        executor = static.Executor()
        compiled = executor.run(feed=feed, fetch_list=fetch)
        for got, expected in zip(compiled, interpreted(executor, feed, fetch)):
            np.testing.assert_array_equal(got, expected)


def test_pieces_of_arrays_that_are_not_contiguous() -> None:
    """A feed with any strides, a result with any strides and a broadcast one are computed in pieces too."""
    x = fed(shape=[600, 500])
    turned = static.py_func(lambda v: v.T.copy().T, x, made("turned", (600, 500)))
    spread = static.py_func(lambda v: np.broadcast_to(v[0, 0], v.shape), x, made("spread", (600, 500)))
    out = (turned * 2.0 + x) * spread - x
    array = np.random.default_rng(0).standard_normal((500, 600)).astype(np.float32).T
    np.testing.assert_allclose(run({"x": array}, [out])[0], (array * 2 + array) * array[0, 0] - array, rtol=1e-5)


def test_flat_arrays() -> None:
    """A flat array is a view where the memory allows it, of one element where all are the same one."""
    array = np.ones((3, 4))
    assert np.shares_memory(flat(array), array)
    assert flat(np.broadcast_to(np.float32(2), (3, 4))).strides == (0,)
    np.testing.assert_array_equal(flat(np.arange(6).reshape(2, 3).T), [0, 3, 1, 4, 2, 5])


def test_a_failure_in_a_piece_names_its_op(monkeypatch: pytest.MonkeyPatch) -> None:
    """An op that fails within a run of elementwise ops is named with the line that added it."""
    opdef: Any = BUILTIN.get("square")

    def broken(x: np.ndarray, out: np.ndarray) -> np.ndarray:
        raise FloatingPointError("broken")

    monkeypatch.setattr(opdef, "kernel_out", broken)
    y = paddle.square(fed(shape=[1 << 19]) * 2.0) * 3.0
    with pytest.raises(FloatingPointError) as caught:
        run({"x": np.ones(1 << 19, np.float32)}, [paddle.sum(y)])
    assert any("'square'" in note and __file__ in note for note in caught.value.__notes__)


# ---- large programs, checks ------------------------------------------------------------------------------------------
def test_programs_of_many_ops() -> None:
    """A program of several thousand ops is cut into parts and computes the same as a short loop."""
    _, loss = chain(1500)
    static.append_backward(loss)
    (value, gradient) = run({"x": X}, [loss, "x@GRAD"])
    h, slope = X, np.ones_like(X)
    for _ in range(1500):
        h = np.tanh(h)
        slope *= 1 - h * h
    np.testing.assert_allclose(value, h.mean(), rtol=1e-5)
    np.testing.assert_allclose(gradient, slope / 6, rtol=1e-3, atol=1e-12)


def test_the_first_op_that_is_not_finite() -> None:
    """With FLAGS_check_nan_inf a run stops at the first op that computes NaN or infinity, and names its line."""
    y = paddle.log(fed() * 2.0) + 1.0
    paddle.set_flags({"FLAGS_check_nan_inf": 1})
    try:
        with pytest.raises(NonFiniteError, match=r"'log' made 6 NaN or infinite values of 6") as caught:
            run({"x": -np.ones((2, 3), np.float32)}, [y])
        assert __file__ in str(caught.value)
        run({"x": np.ones((2, 3), np.float32)}, [y])
    finally:
        paddle.set_flags({"FLAGS_check_nan_inf": 0})


def test_observers_are_notified_of_every_op() -> None:
    """An observer is notified of each op that runs, with arrays, and user functions have their own names."""
    from opkit.ops.core.profile import Profile

    x = fed()
    y = py_tanh(x * 2.0, "y")
    profile = Profile()
    executor = static.Executor()
    with ops.observe(profile.observe):
        (found,) = executor.run(feed={"x": X}, fetch_list=[y])
    np.testing.assert_allclose(found, np.tanh(X * 2), rtol=1e-6)
    assert {name: row.calls for name, row in profile.rows.items()} == {"scalar_mul": 1, "py_func[tanh]": 1}
    assert all(row.most_bytes == 24 for row in profile.rows.values())
    assert [event["name"] for event in profile.trace()["traceEvents"]] == ["scalar_mul", "py_func[tanh]"]


def test_descriptions_agree_with_what_runs() -> None:
    """A built-in op whose kernel writes into a buffer writes what its plain kernel returns."""
    x = fed(shape=[4, 5])
    values = [ops.softmax(x), ops.reduce_sum(x, 0), ops.transpose(x), ops.matmul(x, ops.transpose(x))]
    total = sum((paddle.sum(value * 1.0) for value in values[1:]), paddle.sum(values[0]))
    feed = {"x": np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32)}
    executor = static.Executor()
    compiled = executor.run(feed=feed, fetch_list=[total])
    np.testing.assert_allclose(compiled[0], interpreted(executor, feed, [total])[0], rtol=1e-6)


def test_parts_of_one_form_share_their_code() -> None:
    """The middle parts of a long chain have one text, and so one code object; the values are still told apart."""
    _, loss = chain(1300)
    static.append_backward(loss)
    executor = static.Executor()
    executor.run(feed={"x": X}, fetch_list=["x@GRAD", "o_700"])
    (plan,) = executor.cache._plans.values()
    assert len(plan._chunks) == 7
    assert len({part.__code__ for part in plan._chunks}) < 7


def test_failures_in_a_later_part_name_their_op() -> None:
    """An op that fails in a part whose code others share is named with its own function."""
    calls = [0]

    def fails_late(v: np.ndarray) -> np.ndarray:
        calls[0] += 1
        if calls[0] == 1000:
            raise ArithmeticError("the thousandth")
        return v * 1

    x = fed()
    h = x
    for i in range(1300):
        h = static.py_func(fails_late, h, made(f"o_{i}"))
    with pytest.raises(ArithmeticError, match="the thousandth") as caught:
        run(fetch=[h])
    assert any("py_func[fails_late]" in note for note in caught.value.__notes__)


def test_a_late_mismatch_finishes_the_run() -> None:
    """A result of another shape far into a program of several parts is followed from there."""
    x = fed()
    h = x
    for i in range(900):
        h = static.py_func(lambda v: v + 1, h, made(f"o_{i}"))
    h = static.py_func(lambda v: np.concatenate([v, v]), h, made("twice"))
    for i in range(900):
        h = static.py_func(lambda v: v + 1, h, made(f"p_{i}", (4, 3)))
    executor = static.Executor()
    with pytest.warns(UserWarning, match="'twice'"):
        (first,) = executor.run(feed={"x": X}, fetch_list=[h])
    (second,) = executor.run(feed={"x": X}, fetch_list=[h])
    for found in (first, second):
        np.testing.assert_allclose(found, np.concatenate([X, X]) + 1800, rtol=1e-6)


def test_a_guess_beside_an_open_size_is_checked() -> None:
    """Of two results, one with a size that stays open, the other's guessed size is not taken for known."""
    x = fed(shape=[None, 3])
    both = [made("rows", (-1,)), made("wide", (-1, -1))]
    static.py_func(lambda v: (np.concatenate([v[:, 0]] * 2), np.tile(v, (2, 2))), x, both)
    total = paddle.mean(both[0]) + paddle.mean(paddle.sum(both[1], 1) * paddle.ones_like(both[0]))
    expected = X[:, 0].mean() + 2 * X.sum(1).mean()
    executor = static.Executor()
    for _ in range(2):
        np.testing.assert_allclose(executor.run(feed={"x": X}, fetch_list=[total])[0], expected, rtol=1e-6)
