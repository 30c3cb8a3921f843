"""Jobs: functions traced once, called with arrays, sharing variables through a scope."""

from __future__ import annotations

import time

import numpy as np
import pytest

from opkit import ops, static
from opkit.errors import GraphError, ShapeError
from opkit.ir import TensorDesc
from opkit.ops.core.opdef import ArgDef, OpDef
from opkit.ops.update import SGD_UPDATE
from opkit.static.plan.failures import UninitializedError

F = "float32"


def user_relu() -> OpDef:
    """Return an op as an op directory's kernel makes one."""
    return OpDef(
        "user_relu",
        (ArgDef("in"),),
        (ArgDef("out"),),
        lambda x: np.maximum(x, 0),
        infer=lambda descs, attrs: [descs[0]],
        is_user=True,
    )


def test_a_job_is_called_with_arrays() -> None:
    """A traced job takes arrays in the placeholders' order and returns arrays of the caller's own."""
    tracer = static.JobTracer("job", static.Scope())
    with tracer.tracing():
        x = tracer.placeholder("x", TensorDesc((2, 3), F))
        y = tracer.placeholder("x", TensorDesc((2, 3), F))
        out = ops.apply(user_relu(), (x - y,), {})
    job = tracer.compile([out, x])
    a, b = np.arange(6, dtype=F).reshape(2, 3), np.full((2, 3), 2, F)
    first, same = job([a, b])
    np.testing.assert_array_equal(first, np.maximum(a - b, 0))
    assert not np.shares_memory(same, a)
    first[:] = 9
    np.testing.assert_array_equal(job([a, b])[0], np.maximum(a - b, 0))


def test_jobs_share_variables() -> None:
    """A train job changes a variable in place; a predict job in the same scope sees it."""
    scope = static.Scope()
    scope.var("w").put(np.ones((3, 1), F))
    train = static.JobTracer("train", scope)
    with train.tracing():
        x = train.placeholder("x", TensorDesc((2, 3), F))
        w = train.variable("w", TensorDesc((3, 1), F), is_trainable=True)
        assert train.variable("w", TensorDesc((3, 1), F)) is w
        loss = ops.reduce_mean(ops.matmul(x, w))
        (gradient,) = static.differentiate([loss], [ops.ones_like(loss)], [w])
        rate = ops.constant(0.5, (1,), F)
        ops.apply(SGD_UPDATE, (w, gradient, rate), {"scale": 1.0, "l1": 0.0, "l2": 0.0, "weight_decay": 0.0})
    predict = static.JobTracer("predict", scope)
    with predict.tracing():
        y = predict.placeholder("x", TensorDesc((2, 3), F))
        out = ops.matmul(y, predict.variable("w", TensorDesc((3, 1), F)))
    step, look = train.compile([loss]), predict.compile([out])
    data = np.arange(6, dtype=F).reshape(2, 3)
    weights = np.ones((3, 1), F)
    for _ in range(3):
        (value,) = step([data])
        np.testing.assert_allclose(value, (data @ weights).mean(), rtol=1e-6)
        weights -= 0.5 * data.mean(0)[:, None]
        np.testing.assert_allclose(look([data])[0], data @ weights, rtol=1e-5)


def test_variables_without_data() -> None:
    """A job whose variable has no data says which one."""
    tracer = static.JobTracer("job", static.Scope())
    with tracer.tracing():
        out = tracer.variable("w", TensorDesc((3,), F)) * 2.0
    with pytest.raises(UninitializedError, match="'w'"):
        tracer.compile([out])([])


def test_arrays_that_do_not_fit() -> None:
    """Wrong counts, sizes and dtypes are refused; a dynamic placeholder takes any first size."""
    tracer = static.JobTracer("job", static.Scope())
    with tracer.tracing():
        x = tracer.placeholder("x", TensorDesc((2, 3), F))
        y = tracer.placeholder("y", TensorDesc((5, 3), F), open_axes=(0,))
        out = ops.reduce_sum(x) + ops.reduce_sum(y)
    job = tracer.compile([out])
    a = np.ones((2, 3), F)
    for rows in (1, 4, 2):
        assert float(job([a, np.ones((rows, 3), F)])[0]) == 6 + 3 * rows
    with pytest.raises(GraphError, match="takes 2 arrays, got 1"):
        job([a])
    with pytest.raises(ShapeError, match=r"input 'x' is float32\[2, 3\], got float64\[2, 3\]"):
        job([a.astype("float64"), a])
    with pytest.raises(ShapeError, match=r"got float32\[3, 3\]"):
        job([np.ones((3, 3), F), a])


def test_an_input_and_a_variable_of_one_name() -> None:
    """The input gives way: it gets another name, and is fed by its position as before."""
    scope = static.Scope()
    scope.var("x").put(np.array([10, 20], F))
    tracer = static.JobTracer("job", scope)
    with tracer.tracing():
        given = tracer.placeholder("x", TensorDesc((2,), F))
        out = given + tracer.variable("x", TensorDesc((2,), F))
    assert given.name != "x"
    assert tracer.compile([out])([np.array([1, 2], F)])[0].tolist() == [11, 22]


def test_observers_in_a_job() -> None:
    """An observer op hands each run's data to a function, in order, as a read-only array."""
    seen: list[np.ndarray] = []
    tracer = static.JobTracer("job", static.Scope())
    with tracer.tracing():
        x = tracer.placeholder("x", TensorDesc((2,), F))
        ops.apply(static.observer_op("watch", seen.append), (x,), {})
    job = tracer.compile([])
    for value in (1, 2):
        assert job([np.full(2, value, F)]) == []
    assert [float(item[0]) for item in seen] == [1.0, 2.0]
    assert not seen[0].flags.writeable


def test_tracing_leaves_the_mode_as_it_was() -> None:
    """After tracing, ops go where they went before, also after an error."""
    tracer = static.JobTracer("job", static.Scope())
    before = static.default_main_program()
    with tracer.tracing():
        assert static.default_main_program() is tracer.program
    with pytest.raises(AttributeError), tracer.tracing():
        ops.reduce_sum(3)
    assert static.default_main_program() is before


def test_a_second_call_costs_little() -> None:
    """A predict job's second call is within 20 microseconds of calling the kernel directly."""
    opdef = user_relu()
    tracer = static.JobTracer("job", static.Scope())
    with tracer.tracing():
        out = ops.apply(opdef, (tracer.placeholder("x", TensorDesc((5,), F)),), {})
    job, array = tracer.compile([out]), np.ones(5, F)
    job([array])

    def fastest(call: object) -> float:
        times = []
        for _ in range(200):
            start = time.perf_counter()
            call()  # type: ignore[operator]
            times.append(time.perf_counter() - start)
        return min(times)

    assert fastest(lambda: job([array])) - fastest(lambda: opdef.kernel(array)) < 20e-6


def test_a_job_names_its_own_values() -> None:
    """Names in a job come from its op types and count from 0; the process's count goes on as if nothing had been."""
    static.register_prefixes({"broadcast_add": "tmp"})
    with static.guard_names():
        first = static.unique_name("broadcast_add")
        tracer = static.JobTracer("j", static.Scope())
        with tracer.tracing():
            x = tracer.placeholder("x", TensorDesc((2,), "float32"))
            assert [(x + x).name, (x + x).name] == ["broadcast_add_0.tmp_0", "broadcast_add_1.tmp_0"]
        assert [first, static.unique_name("broadcast_add")] == ["broadcast_add_0", "broadcast_add_1"]
